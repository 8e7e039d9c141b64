#include "data/lerobot/table_store.h"

#include <algorithm>

#include <ATen/ops/cat.h>

#include "core/base/errors.h"

namespace wam {
namespace {

// Groups above the first are read in parts of the second, decoded.
constexpr std::int64_t kLargeGroupBytes = std::int64_t{16} << 20U;
constexpr std::int64_t kPartBytes = std::int64_t{4} << 20U;

// Rows [first, end) of a row group.
struct GroupPart {
  std::size_t group = 0;
  std::int64_t first = 0;
  std::int64_t end = 0;
};

std::size_t group_of(const ParquetTable& table, std::int64_t row) {
  const auto& starts = table.row_starts();
  const auto after = std::upper_bound(starts.begin(), starts.end(), row);
  return static_cast<std::size_t>(after - starts.begin() - 1);
}

std::vector<GroupPart> parts_of(const TableRows& rows) {
  const auto& starts = rows.table->row_starts();
  const std::int64_t end_row = rows.first_row + rows.num_rows;
  std::vector<GroupPart> parts;
  for (std::size_t g = group_of(*rows.table, rows.first_row);
       g + 1 < starts.size() && starts[g] < end_row; ++g) {
    const std::int64_t first = std::max(starts[g], rows.first_row);
    const std::int64_t end = std::min(starts[g + 1], end_row);
    if (first < end) parts.push_back({g, first - starts[g], end - starts[g]});
  }
  return parts;
}

void require_kind(const TableRows& rows,
                  const std::string& column,
                  ColumnKind kind,
                  const char* expected) {
  const TableColumn& info = rows.table->column(column);
  require<DataError>(info.kind == kind,
                     "column '{}' of {} holds {}, expected {}. Fix: name another column in "
                     "meta/modality.json, or in the embodiment's column_map.",
                     column, rows.path, info.type, expected);
}

}  // namespace

std::shared_ptr<const ParquetTable> TableStore::open(const std::string& path) {
  return tables_.get(path, [&] {
    return LruCache<std::string, const ParquetTable>::Made{std::make_shared<ParquetTable>(path), 1};
  });
}

std::shared_ptr<const TableChunk> TableStore::chunk(const TableRows& rows,
                                                    const std::string& column,
                                                    std::size_t group) {
  return chunks_.get({rows.path, column, group, -1}, [&] {
    auto made = rows.table->read(column, group);
    const std::size_t bytes = made->bytes();
    return LruCache<ChunkKey, const TableChunk>::Made{std::move(made), bytes};
  });
}

// Converters write one row group of a million rows, of which a sample needs a few: such groups are
// read in parts.
void TableStore::append_rows(const TableRows& rows,
                             const std::string& column,
                             std::size_t group,
                             std::int64_t first,
                             std::int64_t end,
                             std::vector<at::Tensor>& parts) {
  const auto& starts = rows.table->row_starts();
  const std::int64_t in_group = starts[group + 1] - starts[group];
  const std::int64_t row_bytes = rows.table->row_bytes(column, group);
  if (row_bytes * in_group <= kLargeGroupBytes) {
    parts.push_back(chunk(rows, column, group)->value_LD.narrow(0, first, end - first));
    return;
  }
  const std::int64_t part_rows = std::max<std::int64_t>(1, kPartBytes / row_bytes);
  for (std::int64_t part = first / part_rows; part * part_rows < end; ++part) {
    const std::int64_t begin = part * part_rows;
    const auto held = chunks_.get({rows.path, column, group, part}, [&] {
      auto made =
          rows.table->read_rows(column, group, begin, std::min(begin + part_rows, in_group));
      const std::size_t bytes = made->bytes();
      return LruCache<ChunkKey, const TableChunk>::Made{std::move(made), bytes};
    });
    const std::int64_t from = std::max(first, begin) - begin;
    const std::int64_t to = std::min(end, begin + part_rows) - begin;
    parts.push_back(held->value_LD.narrow(0, from, to - from));
  }
}

at::Tensor TableStore::numbers(const TableRows& rows, const std::string& column) {
  require_kind(rows, column, ColumnKind::kNumbers, "numbers");
  std::vector<at::Tensor> parts;
  for (const GroupPart& part : parts_of(rows)) {
    append_rows(rows, column, part.group, part.first, part.end, parts);
    require<DataError>(
        parts.back().size(1) == parts.front().size(1),
        "column '{}' of {} has rows of {} and of {} values. Fix: write the table again "
        "with vectors of one length.",
        column, rows.path, parts.front().size(1), parts.back().size(1));
  }
  require<DataError>(!parts.empty(), "the table {} has no rows. Fix: remove the episode.",
                     rows.path);
  return parts.size() == 1 ? parts[0] : at::cat(parts);
}

std::vector<std::string> TableStore::texts(const TableRows& rows, const std::string& column) {
  require_kind(rows, column, ColumnKind::kText, "text");
  std::vector<std::string> out;
  for (const GroupPart& part : parts_of(rows)) {
    const auto held = chunk(rows, column, part.group);
    out.insert(out.end(), held->text.begin() + part.first, held->text.begin() + part.end);
  }
  return out;
}

std::shared_ptr<const std::string> TableStore::picture(const TableRows& rows,
                                                       const std::string& column,
                                                       std::int64_t row) {
  require_kind(rows, column, ColumnKind::kPictures, "pictures (struct of bytes and path)");
  const std::int64_t in_table = rows.first_row + row;
  const std::size_t group = group_of(*rows.table, in_table);
  auto held = chunk(rows, column, group);
  const auto at = static_cast<std::size_t>(in_table - rows.table->row_starts()[group]);
  const std::string* file = &held->text[at];
  return {std::move(held), file};
}

}  // namespace wam
