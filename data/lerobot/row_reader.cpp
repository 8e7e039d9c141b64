#include "data/lerobot/row_reader.h"

#include <algorithm>
#include <vector>

#include <ATen/ops/empty.h>

#include <parquet/column_page.h>
#include <parquet/column_reader.h>
#include <parquet/metadata.h>
#include <parquet/schema.h>
#include <parquet/types.h>

#include "core/base/errors.h"

namespace wam {
namespace {

// Values of a row; 0 when they cannot be the same in every row.
std::int64_t row_width(const parquet::FileMetaData& metadata, int leaf, int group) {
  const auto row_group = metadata.RowGroup(group);
  const std::int64_t values = row_group->ColumnChunk(leaf)->num_values();
  const std::int64_t rows = row_group->num_rows();
  return rows > 0 && values % rows == 0 ? values / rows : 0;
}

std::int64_t value_bytes(const parquet::ColumnDescriptor& column) {
  switch (column.physical_type()) {
    case parquet::Type::FLOAT:
      return 4;
    case parquet::Type::DOUBLE:
      return 8;
    case parquet::Type::INT64:
      return column.logical_type()->is_none() ? 8 : 0;
    default:
      return 0;
  }
}

// Levels of the values that were read: none is null, and every row begins where it should.
void check_levels(const std::vector<std::int16_t>& definition,
                  const std::vector<std::int16_t>& repetition,
                  const parquet::ColumnDescriptor& column,
                  std::int64_t width,
                  const std::string& where) {
  const bool is_list = column.max_repetition_level() > 0;
  for (std::size_t i = 0; i < definition.size(); ++i) {
    const bool begins = static_cast<std::int64_t>(i) % width == 0;
    const bool fits =
        definition[i] == column.max_definition_level() || !column.max_definition_level();
    require<DataError>(
        fits && (!is_list || (repetition[i] == 0) == begins),
        "{}: null cells, or rows of other than {} values. Fix: write the table again "
        "with vectors of one length and without missing values.",
        where, width);
  }
}

template <class Type>
at::Tensor read_typed(parquet::ColumnReader& any,
                      at::ScalarType type,
                      std::int64_t skip,
                      std::int64_t count,
                      std::int64_t width,
                      const std::string& where) {
  auto& reader = static_cast<parquet::TypedColumnReader<Type>&>(any);
  const bool found = reader.Skip(skip) == skip;
  at::Tensor out = at::empty({count / width, width}, type);
  auto* to = static_cast<typename Type::c_type*>(out.data_ptr());
  std::vector<std::int16_t> definition(static_cast<std::size_t>(count));
  std::vector<std::int16_t> repetition(static_cast<std::size_t>(count));
  std::int64_t levels = 0;
  std::int64_t values = 0;
  while (found && levels < count) {
    std::int64_t read = 0;
    const std::int64_t more = reader.ReadBatch(count - levels, definition.data() + levels,
                                               repetition.data() + levels, to + values, &read);
    if (more == 0) break;
    levels += more;
    values += read;
  }
  require<DataError>(levels == count && values == count,
                     "{}: {} of {} values. Fix: restore the file from the dataset's source.", where,
                     values, count);
  check_levels(definition, repetition, *any.descr(), width, where);
  return out;
}

}  // namespace

std::int64_t row_bytes(const parquet::FileMetaData& metadata, int leaf, int group) {
  const parquet::ColumnDescriptor& column = *metadata.schema()->Column(leaf);
  if (column.max_repetition_level() > 1) return 0;
  return value_bytes(column) * row_width(metadata, leaf, group);
}

at::Tensor read_rows(parquet::ParquetFileReader& reader,
                     int leaf,
                     int group,
                     std::int64_t first,
                     std::int64_t end,
                     const std::string& where) {
  const auto metadata = reader.metadata();
  const std::int64_t width = row_width(*metadata, leaf, group);
  const std::int64_t wanted = first * width;
  std::int64_t passed = 0;
  auto pages = reader.RowGroup(group)->GetColumnPageReader(leaf);
  pages->set_data_page_filter([&](const parquet::DataPageStats& page) {
    if (passed + page.num_values > wanted) return false;
    passed += page.num_values;
    return true;
  });
  const parquet::ColumnDescriptor* column = metadata->schema()->Column(leaf);
  const auto typed = parquet::ColumnReader::Make(column, std::move(pages));
  require<DataError>(typed->HasNext(), "{}: no values. Fix: restore the file.", where);
  const std::int64_t skip = wanted - passed;
  const std::int64_t count = (end - first) * width;
  switch (column->physical_type()) {
    case parquet::Type::FLOAT:
      return read_typed<parquet::FloatType>(*typed, at::kFloat, skip, count, width, where);
    case parquet::Type::DOUBLE:
      return read_typed<parquet::DoubleType>(*typed, at::kDouble, skip, count, width, where);
    case parquet::Type::INT64:
      return read_typed<parquet::Int64Type>(*typed, at::kLong, skip, count, width, where);
    default:
      throw InvariantError("a column that cannot be read in parts");
  }
}

}  // namespace wam
