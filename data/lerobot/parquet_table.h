#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace wam {

// One column of one row group, decoded.
struct TableChunk {
  at::Tensor value_LD;            // numbers, in the stored type; undefined for the other kinds
  std::vector<std::string> text;  // text, or encoded pictures, one per row

  [[nodiscard]] std::size_t bytes() const;
};

enum class ColumnKind {
  kNumbers,   // scalars, or (nested) lists of one length: D values in row-major order
  kText,      // UTF-8
  kPictures,  // struct{bytes, path}: PNG or JPEG files
  kOther,     // anything else: refused when read
};

struct TableColumn {
  std::string name;
  ColumnKind kind = ColumnKind::kOther;
  std::string type;  // Arrow's name of the type, for messages
};

// A parquet file, through Apache Arrow. Opening reads the footer; columns are read by row group, so
// that a file of any size costs what is asked of it.
//
// Threads: any (calls on one table run one after the other).
// Errors:  DataError naming file and column: missing, truncated, null cells, lists of unequal
// length,
//          an unsupported type.
class ParquetTable {
 public:
  explicit ParquetTable(const std::filesystem::path& path);
  ~ParquetTable();
  ParquetTable(const ParquetTable&) = delete;
  ParquetTable& operator=(const ParquetTable&) = delete;
  ParquetTable(ParquetTable&&) = delete;
  ParquetTable& operator=(ParquetTable&&) = delete;

  [[nodiscard]] const std::vector<TableColumn>& columns() const noexcept;
  // Errors: DataError listing what there is.
  [[nodiscard]] const TableColumn& column(const std::string& name) const;
  // Group g holds rows [row_starts()[g], row_starts()[g + 1]).
  [[nodiscard]] const std::vector<std::int64_t>& row_starts() const noexcept;
  [[nodiscard]] std::int64_t num_rows() const noexcept { return row_starts().back(); }
  [[nodiscard]] std::shared_ptr<TableChunk> read(const std::string& column,
                                                 std::size_t group) const;
  // Bytes of a decoded row of a column of numbers, where its groups can be read in parts; else 0.
  [[nodiscard]] std::int64_t row_bytes(const std::string& column, std::size_t group) const;
  // Rows [first, end) of a group, counted from its first, of such a column; pages before them are
  // passed over.
  [[nodiscard]] std::shared_ptr<TableChunk> read_rows(const std::string& column,
                                                      std::size_t group,
                                                      std::int64_t first,
                                                      std::int64_t end) const;
  // Whole columns of a small table, read together.
  [[nodiscard]] std::vector<TableChunk> read_whole(const std::vector<std::string>& columns) const;
  // A column of true or false; null cells are empty.
  [[nodiscard]] std::vector<std::optional<bool>> read_flags(const std::string& column) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace wam
