#include "data/lerobot/shared_tables.h"

#include <algorithm>
#include <utility>

#include "core/base/errors.h"

namespace wam {

SharedTables::SharedTables(const std::vector<std::filesystem::path>& files, ReadRange read_range)
    : read_range_(std::move(read_range)) {
  for (const auto& file : files) files_.push_back(file.string());
}

SharedTables::Range SharedTables::range(std::size_t file) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = known_.find(file);
    if (found != known_.end()) return found->second;
  }
  const Range read = read_range_(files_[file]);
  const std::lock_guard lock(mutex_);
  return known_.emplace(file, read).first->second;
}

SharedTables::Place SharedTables::find(const LeRobotEpisode& episode, const std::string& listed) {
  const std::int64_t first = episode.first_index;
  const std::int64_t end = first + *episode.length;
  std::size_t low = 0;
  std::size_t high = files_.size();
  const auto named = std::find(files_.begin(), files_.end(), listed);
  std::size_t probe =
      named == files_.end() ? high / 2 : static_cast<std::size_t>(named - files_.begin());
  bool is_first = true;
  while (low < high) {
    const Range held = range(probe);
    if (held.first <= first && first < held.end) {
      require<DataError>(end <= held.end,
                         "its rows have the index {} to {}, and the table {} ends at {}. Fix: "
                         "restore the files under data/ and meta/episodes from the dataset's "
                         "source.",
                         first, end - 1, files_[probe], held.end - 1);
      return {files_[probe], first - held.first};
    }
    const bool before = first < held.first;
    (before ? high : low) = before ? probe : probe + 1;
    // Next to the named file first: that is where writers go wrong.
    probe = is_first ? (before ? high - 1 : low) : low + (high - low) / 2;
    is_first = false;
    if (before && high == 0) break;
  }
  throw DataError(
      fmt::format("its rows have the index {} to {}, which none of the {} tables holds (the list "
                  "names {}). Fix: restore the files under data/ and meta/episodes from the "
                  "dataset's source.",
                  first, end - 1, files_.size(), listed));
}

}  // namespace wam
