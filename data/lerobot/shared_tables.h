#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "data/lerobot/meta.h"

namespace wam {

// Finds the rows of an episode in the table files of a v3.0 set by the column `index`, which counts
// the rows of the whole set. The file that the episode list names is looked at first, and is not
// trusted: a converter of LeRobot's (0.4.4) names the file before for the first episode of each.
//
// Threads: any. Errors: DataError (no file holds the rows; a file whose rows are not numbered one
// after the other).
class SharedTables {
 public:
  // `index` of a file's first row, and of its last one plus one.
  struct Range {
    std::int64_t first = 0;
    std::int64_t end = 0;
  };
  using ReadRange = std::function<Range(const std::string& path)>;
  struct Place {
    std::string path;
    std::int64_t first_row = 0;
  };

  // `files` in the order of their rows; `read_range` opens one.
  SharedTables(const std::vector<std::filesystem::path>& files, ReadRange read_range);
  // `listed`: the file that the episode list names.
  [[nodiscard]] Place find(const LeRobotEpisode& episode, const std::string& listed);

 private:
  Range range(std::size_t file);

  std::vector<std::string> files_;
  ReadRange read_range_;
  std::mutex mutex_;
  std::map<std::size_t, Range> known_;  // of the files that were opened
};

}  // namespace wam
