#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include "data/lerobot/layout.h"
#include "data/lerobot/meta.h"
#include "data/lerobot/shared_tables.h"
#include "data/lerobot/table_store.h"

namespace wam {

// Which rows of which table are an episode's, proven by what the table says: its length (v2.x),
// `index` and `episode_index` of every row (v3.0, once an episode).
//
// Threads: any. Errors: DataError.
class EpisodeRows {
 public:
  // All three must live as long.
  EpisodeRows(const LeRobotMeta& meta, const LeRobotLayout& layout, TableStore& tables);
  [[nodiscard]] TableRows of(std::size_t episode_idx);

 private:
  TableRows of_shared(std::size_t episode_idx);
  SharedTables::Range index_range(const std::string& path);
  void check(const TableRows& rows, const LeRobotEpisode& episode);

  const LeRobotMeta& meta_;
  const LeRobotLayout& layout_;
  TableStore& tables_;
  std::unique_ptr<SharedTables> shared_;             // v3.0
  std::unique_ptr<std::atomic<bool>[]> is_checked_;  // v3.0: of each episode
};

}  // namespace wam
