#pragma once

#include <cstdint>
#include <string>

#include <ATen/core/Tensor.h>

#include <parquet/file_reader.h>

namespace wam {

// Some rows of a large row group: pages before them are passed over unread. For sources that
// include Parquet anyway.

// Bytes of a decoded row, where the column can be read in parts: a plain number, or a list of one
// length in every row, stored as float, double or 64-bit integers. 0 for any other column.
std::int64_t row_bytes(const parquet::FileMetaData& metadata, int leaf, int group);

// Rows [first, end) of the group as (rows, D). `reader` should use a buffered stream. Errors:
// DataError starting with `where` for null cells and lists of another length.
at::Tensor read_rows(parquet::ParquetFileReader& reader,
                     int leaf,
                     int group,
                     std::int64_t first,
                     std::int64_t end,
                     const std::string& where);

}  // namespace wam
