#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "test/support/temp_folder.h"
#include "test/unit/data/lerobot/small_set.h"

namespace wam::test {

// What the tables of a SharedSet say; a test changes it before it writes.
struct SharedSetForm {
  std::vector<std::int64_t> lengths = {5, 3, 4, 6, 2};
  // Data files, by the episodes in each; two a chunk.
  std::vector<std::vector<std::int64_t>> tables = {{0, 1}, {2}, {3, 4}};
  // The file that the list names: the one before for the first episode of a file, as a converter
  // writes it.
  std::vector<std::int64_t> listed_table = {0, 0, 0, 1, 2};
  // Video files of the two cameras.
  std::vector<std::vector<std::int64_t>> front = {{0, 1, 2, 3, 4}};
  std::vector<std::vector<std::int64_t>> wrist = {{0, 1}, {2, 3, 4}};
  double drift_s = 0.03;  // by which each start time is further off than the one before
  int extra_frames = 0;   // at the end of every video
  int fps = 10;
  int video_fps = 10;
  std::string task_column = "__index_level_0__";
  std::string info_extra;                   // further fields of info.json
  std::vector<TestColumn> list_extra = {};  // further columns of the episode list
};

// A v3.0 dataset of episodes 0, 1, …: columns state (float32, 2), timestamp, index, episode_index,
// task_index; frame f of a video file has the brightness grey_of(f).
class SharedSet {
 public:
  explicit SharedSet(const SharedSetForm& form = {});
  [[nodiscard]] const std::filesystem::path& root() const noexcept { return folder_.path(); }
  // Data file `i`, counted over chunks.
  [[nodiscard]] std::filesystem::path table(std::int64_t i) const;
  // The rows of the whole set before episode e.
  [[nodiscard]] std::int64_t first_index(std::int64_t e) const;
  // Writes data file `i` once more with its `index` column moved by `shift`.
  void write_data(std::int64_t i, std::int64_t shift) const;

 private:
  void write_info() const;
  void write_list() const;
  void write_videos(const std::string& camera,
                    const std::vector<std::vector<std::int64_t>>& files) const;

  SharedSetForm form_;
  TempFolder folder_;
};

}  // namespace wam::test
