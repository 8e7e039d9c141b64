#include "data/lerobot_writer/feature_statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace wam::lerobot_writer {
namespace {

// Sums of one pass; the second pass for the deviation starts from the mean.
void finish(FeatureStatistics& out, const std::vector<double>& square_sums, double rows) {
  for (std::size_t c = 0; c < square_sums.size(); ++c) {
    out.std.push_back(std::sqrt(square_sums[c] / rows));
  }
}

FeatureStatistics empty(std::size_t width) {
  FeatureStatistics out;
  out.min.assign(width, std::numeric_limits<double>::infinity());
  out.max.assign(width, -std::numeric_limits<double>::infinity());
  out.mean.assign(width, 0.0);
  return out;
}

}  // namespace

FeatureStatistics column_statistics(const std::vector<double>& values, std::size_t width) {
  FeatureStatistics out = empty(width);
  const std::size_t rows = values.size() / width;
  out.count = static_cast<std::int64_t>(rows);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t c = i % width;
    out.min[c] = std::min(out.min[c], values[i]);
    out.max[c] = std::max(out.max[c], values[i]);
    out.mean[c] += values[i];
  }
  for (double& mean : out.mean) mean /= static_cast<double>(rows);
  std::vector<double> square_sums(width, 0.0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double off = values[i] - out.mean[i % width];
    square_sums[i % width] += off * off;
  }
  finish(out, square_sums, static_cast<double>(rows));
  return out;
}

FeatureStatistics pooled(const FeatureStatistics& a, const FeatureStatistics& b) {
  FeatureStatistics out = empty(a.min.size());
  out.count = a.count + b.count;
  const double share = static_cast<double>(b.count) / static_cast<double>(out.count);
  for (std::size_t c = 0; c < a.min.size(); ++c) {
    const double apart = b.mean[c] - a.mean[c];
    out.min[c] = std::min(a.min[c], b.min[c]);
    out.max[c] = std::max(a.max[c], b.max[c]);
    out.mean[c] = a.mean[c] + share * apart;
    out.std.push_back(std::sqrt((1 - share) * a.std[c] * a.std[c] + share * b.std[c] * b.std[c] +
                                share * (1 - share) * apart * apart));
  }
  return out;
}

std::vector<std::int64_t> statistics_frames(std::int64_t rows) {
  const auto wanted = static_cast<std::int64_t>(std::pow(static_cast<double>(rows), 0.75));
  const std::int64_t count =
      std::min<std::int64_t>(std::max(std::min<std::int64_t>(rows, 100), wanted), 10'000);
  std::vector<std::int64_t> frames;
  for (std::int64_t i = 0; i < count; ++i) {
    const double at = count == 1 ? 0.0
                                 : static_cast<double>(i) * static_cast<double>(rows - 1) /
                                       static_cast<double>(count - 1);
    frames.push_back(static_cast<std::int64_t>(std::nearbyint(at)));
  }
  return frames;
}

FeatureStatistics picture_statistics(const std::vector<std::uint8_t>& pictures_TC,
                                     std::int64_t pixels) {
  constexpr std::size_t kChannels = 3;
  constexpr std::size_t kLevels = 256;
  const auto picture_bytes = static_cast<std::size_t>(pixels) * kChannels;
  const auto frames =
      statistics_frames(static_cast<std::int64_t>(pictures_TC.size() / picture_bytes));
  std::vector<std::uint64_t> histogram(kChannels * kLevels, 0);
  for (const std::int64_t frame : frames) {
    const std::uint8_t* picture =
        pictures_TC.data() + static_cast<std::size_t>(frame) * picture_bytes;
    for (std::size_t i = 0; i < picture_bytes; ++i) {
      ++histogram[(i % kChannels) * kLevels + picture[i]];
    }
  }
  FeatureStatistics out = empty(kChannels);
  out.count = static_cast<std::int64_t>(frames.size());
  const double rows = static_cast<double>(pixels) * static_cast<double>(frames.size());
  std::vector<double> square_sums(kChannels, 0.0);
  for (std::size_t c = 0; c < kChannels; ++c) {
    const std::uint64_t* counts = histogram.data() + c * kLevels;
    for (std::size_t level = 0; level < kLevels; ++level) {
      if (counts[level] == 0) continue;
      const double value = static_cast<double>(level) / 255.0;
      out.min[c] = std::min(out.min[c], value);
      out.max[c] = std::max(out.max[c], value);
      out.mean[c] += value * static_cast<double>(counts[level]) / rows;
    }
    for (std::size_t level = 0; level < kLevels; ++level) {
      const double off = static_cast<double>(level) / 255.0 - out.mean[c];
      square_sums[c] += off * off * static_cast<double>(counts[level]);
    }
  }
  finish(out, square_sums, rows);
  return out;
}

}  // namespace wam::lerobot_writer
