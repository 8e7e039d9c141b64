#pragma once

#include <cstdint>
#include <vector>

namespace wam::lerobot_writer {

// What LeRobot stores for a feature of an episode, in double. Population standard deviation.
struct FeatureStatistics {
  std::vector<double> min, max, mean, std;  // per column, or per colour channel
  std::int64_t count = 0;                   // rows, or pictures, looked at
};

// values: rows x width.
FeatureStatistics column_statistics(const std::vector<double>& values, std::size_t width);

// Frames that picture statistics look at: floor(rows^0.75), at least min(rows, 100), at most
// 10,000, evenly spaced. Source: LeRobot compute_stats.py @ v0.3.3.
std::vector<std::int64_t> statistics_frames(std::int64_t rows);

// Per channel in [0, 1], over the frames above. pictures_TC: T pictures of `pixels` RGB pixels,
// smaller than 300 on each side (LeRobot thins out larger ones).
FeatureStatistics picture_statistics(const std::vector<std::uint8_t>& pictures_TC,
                                     std::int64_t pixels);

// Of the rows of both.
FeatureStatistics pooled(const FeatureStatistics& a, const FeatureStatistics& b);

}  // namespace wam::lerobot_writer
