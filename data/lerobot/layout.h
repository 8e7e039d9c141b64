#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "data/lerobot/meta.h"

namespace wam {

// The part of a video file that belongs to an episode.
struct VideoSpan {
  std::filesystem::path path;
  double from_s = 0;
  std::int64_t first_frame = 0;  // frames of the episodes before it
  std::int64_t file_frames = 0;  // rows of all episodes in the file; 0: those of this episode
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

  // The table that the episode list names. With shared tables it may be the wrong one:
  // SharedTables finds the rows.
  [[nodiscard]] virtual std::filesystem::path table(const LeRobotEpisode& episode) const = 0;
  [[nodiscard]] virtual VideoSpan video(const LeRobotEpisode& episode,
                                        const std::string& camera) const = 0;
};

// The table files of a v3.0 set that exist, in the order of their rows. Files are numbered without
// gaps; the episode list may leave out the last ones, and names others.
std::vector<std::filesystem::path> shared_table_files(const LeRobotMeta& meta);

// The layout that info.json names. Errors: DataError for broken path templates.
std::unique_ptr<LeRobotLayout> make_layout(const LeRobotMeta& meta);

}  // namespace wam
