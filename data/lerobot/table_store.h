#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/base/lru_cache.h"
#include "data/lerobot/parquet_table.h"

namespace wam {

// Some rows of an opened table.
struct TableRows {
  std::shared_ptr<const ParquetTable> table;
  std::string path;
  std::int64_t first_row = 0;
  std::int64_t num_rows = 0;
};

// Table files of which the latest used stay open, and the columns that were decoded of them last.
//
// Threads: any. Errors: DataError naming file and column.
class TableStore {
 public:
  TableStore(std::size_t max_open_tables, std::size_t column_bytes)
      : tables_(max_open_tables), chunks_(column_bytes, kLeastColumnBytes) {}

  std::shared_ptr<const ParquetTable> open(const std::string& path);
  // (num_rows, D) in the stored type. May alias the cache.
  at::Tensor numbers(const TableRows& rows, const std::string& column);
  std::vector<std::string> texts(const TableRows& rows, const std::string& column);
  // The encoded picture of row `row`, counted from rows.first_row.
  std::shared_ptr<const std::string> picture(const TableRows& rows,
                                             const std::string& column,
                                             std::int64_t row);

 private:
  using ChunkKey = std::tuple<std::string, std::string, std::size_t, std::int64_t>;

  // A group of a column.
  std::shared_ptr<const TableChunk> chunk(const TableRows& rows,
                                          const std::string& column,
                                          std::size_t group);
  // Rows [first, end) of a group, (rows, D); of a large one only a part is read.
  void append_rows(const TableRows& rows,
                   const std::string& column,
                   std::size_t group,
                   std::int64_t first,
                   std::int64_t end,
                   std::vector<at::Tensor>& parts);

  static constexpr std::size_t kLeastColumnBytes = std::size_t{64} << 10U;

  LruCache<std::string, const ParquetTable> tables_;
  LruCache<ChunkKey, const TableChunk> chunks_;  // file, column, row group, part of it
};

}  // namespace wam
