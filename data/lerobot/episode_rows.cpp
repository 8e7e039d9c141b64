#include "data/lerobot/episode_rows.h"

#include "core/base/errors.h"

namespace wam {

EpisodeRows::EpisodeRows(const LeRobotMeta& meta, const LeRobotLayout& layout, TableStore& tables)
    : meta_(meta), layout_(layout), tables_(tables) {
  if (!meta.info.is_v3()) return;
  shared_ = std::make_unique<SharedTables>(
      shared_table_files(meta), [this](const std::string& path) { return index_range(path); });
  is_checked_ = std::make_unique<std::atomic<bool>[]>(meta.episodes.size());
}

TableRows EpisodeRows::of(std::size_t episode_idx) {
  if (shared_) return of_shared(episode_idx);
  const LeRobotEpisode& e = meta_.episodes[episode_idx];
  const std::string path = layout_.table(e).string();
  TableRows rows{tables_.open(path), path, 0, 0};
  rows.num_rows = rows.table->num_rows();
  require<DataError>(!e.length || *e.length == rows.num_rows,
                     "the episode list says {} frames, the table {} has {} rows. Fix: restore the "
                     "files from the dataset's source, or correct meta/episodes.jsonl.",
                     e.length.value_or(0), path, rows.num_rows);
  return rows;
}

TableRows EpisodeRows::of_shared(std::size_t episode_idx) {
  const LeRobotEpisode& e = meta_.episodes[episode_idx];
  const auto place = shared_->find(e, layout_.table(e).string());
  TableRows rows{tables_.open(place.path), place.path, place.first_row, *e.length};
  if (!is_checked_[episode_idx].load()) check(rows, e);
  is_checked_[episode_idx].store(true);
  return rows;
}

SharedTables::Range EpisodeRows::index_range(const std::string& path) {
  const auto table = tables_.open(path);
  require<DataError>(table->num_rows() > 0, "the table {} has no rows. Fix: remove the file.",
                     path);
  const auto index_of = [&](std::int64_t row) {
    return tables_.numbers({table, path, row, 1}, "index").to(at::kLong).item<std::int64_t>();
  };
  const SharedTables::Range range{index_of(0), index_of(table->num_rows() - 1) + 1};
  require<DataError>(range.end - range.first == table->num_rows(),
                     "the {} rows of {} have the index {} to {}, expected one after the other. "
                     "Fix: restore the file from the dataset's source.",
                     table->num_rows(), path, range.first, range.end - 1);
  return range;
}

void EpisodeRows::check(const TableRows& rows, const LeRobotEpisode& e) {
  const at::Tensor index_L = tables_.numbers(rows, "index").to(at::kLong).contiguous();
  const at::Tensor number_L = tables_.numbers(rows, "episode_index").to(at::kLong).contiguous();
  for (std::int64_t row = 0; row < rows.num_rows; ++row) {
    const auto index = index_L.const_data_ptr<std::int64_t>()[row];
    const auto number = number_L.const_data_ptr<std::int64_t>()[row];
    require<DataError>(index == e.first_index + row && number == e.number,
                       "its rows should be the {} from row {} on in {}, and row {} has the index "
                       "{} of episode {} where index {} was expected. Fix: restore the files under "
                       "data/ and meta/episodes from the dataset's source.",
                       rows.num_rows, rows.first_row, rows.path, rows.first_row + row, index,
                       number, e.first_index + row);
  }
}

}  // namespace wam
