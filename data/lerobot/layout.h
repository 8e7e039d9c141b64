#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "data/lerobot/meta.h"

namespace wam {

// Rows of a table file that belong to an episode.
struct TableSpan {
  std::filesystem::path path;
  std::int64_t first_row = 0;
  std::int64_t num_rows = -1;  // -1: up to the end of the file
};

// The part of a video file that belongs to an episode, from `from_s` seconds on.
struct VideoSpan {
  std::filesystem::path path;
  double from_s = 0;
};

// Where a dataset keeps an episode. What differs between the layouts is here and in
// read_lerobot_meta: v2.x has a file per episode (and camera), v3.0 many episodes per file.
class LeRobotLayout {
 public:
  LeRobotLayout() = default;
  LeRobotLayout(const LeRobotLayout&) = delete;
  LeRobotLayout& operator=(const LeRobotLayout&) = delete;
  LeRobotLayout(LeRobotLayout&&) = delete;
  LeRobotLayout& operator=(LeRobotLayout&&) = delete;
  virtual ~LeRobotLayout() = default;

  [[nodiscard]] virtual TableSpan table(const LeRobotEpisode& episode) const = 0;
  [[nodiscard]] virtual VideoSpan video(const LeRobotEpisode& episode,
                                        const std::string& camera) const = 0;
};

// The layout that info.json names. Errors: DataError for broken path templates.
std::unique_ptr<LeRobotLayout> make_layout(const LeRobotMeta& meta);

}  // namespace wam
