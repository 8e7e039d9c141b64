#pragma once

#include <optional>
#include <string>
#include <vector>

#include <arrow/array.h>
#include <arrow/chunked_array.h>
#include <arrow/type.h>

#include "data/lerobot/parquet_table.h"

namespace wam {

// Arrow arrays -> TableChunk. For sources that include Arrow anyway.

ColumnKind kind_of(const arrow::DataType& type);

// Errors: DataError starting with `where` (null cells, lists of unequal length, unsupported type).
TableChunk decode_column(const arrow::ChunkedArray& column, const std::string& where);

// Cells that are true or false, or 0 or 1; empty for null. Errors: DataError starting with `where`.
std::vector<std::optional<bool>> decode_flags(const arrow::ChunkedArray& column,
                                              const std::string& where);

}  // namespace wam
