#include "data/lerobot/arrow_decode.h"

#include <cstring>
#include <optional>

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>

#include <arrow/array/array_binary.h>
#include <arrow/array/array_nested.h>
#include <arrow/array/array_primitive.h>
#include <arrow/extension_type.h>

#include "core/base/errors.h"

namespace wam {
namespace {

using arrow::Type;
using ArrayPtr = std::shared_ptr<arrow::Array>;

std::optional<at::ScalarType> scalar_type(const arrow::DataType& type) {
  switch (type.id()) {
    case Type::BOOL:
      return at::kBool;
    case Type::UINT8:
      return at::kByte;
    case Type::INT8:
      return at::kChar;
    case Type::INT16:
      return at::kShort;
    case Type::INT32:
      return at::kInt;
    case Type::INT64:
      return at::kLong;
    case Type::HALF_FLOAT:
      return at::kHalf;
    case Type::FLOAT:
      return at::kFloat;
    case Type::DOUBLE:
      return at::kDouble;
    default:
      return std::nullopt;
  }
}

bool is_any_list(Type::type id) {
  return id == Type::LIST || id == Type::LARGE_LIST || id == Type::FIXED_SIZE_LIST;
}

bool is_text(Type::type id) {
  return id == Type::STRING || id == Type::LARGE_STRING;
}

void check_no_nulls(const arrow::Array& array, const std::string& where) {
  require<DataError>(array.null_count() == 0,
                     "{}: {} of {} cells are null. Fix: write the dataset again without missing "
                     "values, or remove the episode.",
                     where, array.null_count(), array.length());
}

template <class List>
ArrayPtr flatten_list(const List& list, const std::string& where) {
  const std::int64_t rows = list.length();
  const std::int64_t width = rows == 0 ? 0 : std::int64_t{list.value_length(0)};
  for (std::int64_t row = 1; row < rows; ++row) {
    require<DataError>(
        list.value_length(row) == width,
        "{}: row {} holds {} values, row 0 holds {}. Fix: every row of a vector needs "
        "the same length.",
        where, row, std::int64_t{list.value_length(row)}, width);
  }
  auto flat = list.Flatten();
  require<DataError>(flat.ok(), "{}: {}. Fix: restore the file.", where, flat.status().ToString());
  return *flat;
}

// The values inside any number of list levels.
ArrayPtr flatten(ArrayPtr array, const std::string& where) {
  while (true) {
    check_no_nulls(*array, where);
    switch (array->type_id()) {
      case Type::EXTENSION:
        array = static_cast<const arrow::ExtensionArray&>(*array).storage();
        break;
      case Type::LIST:
        array = flatten_list(static_cast<const arrow::ListArray&>(*array), where);
        break;
      case Type::LARGE_LIST:
        array = flatten_list(static_cast<const arrow::LargeListArray&>(*array), where);
        break;
      case Type::FIXED_SIZE_LIST:
        array = flatten_list(static_cast<const arrow::FixedSizeListArray&>(*array), where);
        break;
      default:
        return array;
    }
  }
}

at::Tensor decode_numbers(const ArrayPtr& array, const std::string& where) {
  const ArrayPtr flat = flatten(array, where);
  const auto type = scalar_type(*flat->type());
  require<DataError>(type.has_value(),
                     "{}: holds {}, expected numbers. Fix: store the column as float32, float64, "
                     "int64 or bool.",
                     where, array->type()->ToString());
  const std::int64_t rows = array->length();
  at::Tensor out = at::empty({flat->length()}, *type);
  if (*type == at::kBool) {
    const auto& bits = static_cast<const arrow::BooleanArray&>(*flat);
    bool* to = out.data_ptr<bool>();
    for (std::int64_t i = 0; i < flat->length(); ++i) to[i] = bits.Value(i);
  } else if (flat->length() > 0) {
    const auto size = static_cast<std::int64_t>(out.element_size());
    const std::uint8_t* from = flat->data()->buffers[1]->data() + flat->offset() * size;
    std::memcpy(out.data_ptr(), from, static_cast<std::size_t>(flat->length() * size));
  }
  return rows == 0 ? out.view({0, 0}) : out.view({rows, flat->length() / rows});
}

template <class Binary>
void append(const Binary& array, std::vector<std::string>& out) {
  for (std::int64_t i = 0; i < array.length(); ++i) out.emplace_back(array.GetView(i));
}

void append_text(const arrow::Array& array,
                 std::vector<std::string>& out,
                 const std::string& where) {
  check_no_nulls(array, where);
  switch (array.type_id()) {
    case Type::STRING:
      return append(static_cast<const arrow::StringArray&>(array), out);
    case Type::LARGE_STRING:
      return append(static_cast<const arrow::LargeStringArray&>(array), out);
    case Type::BINARY:
      return append(static_cast<const arrow::BinaryArray&>(array), out);
    case Type::LARGE_BINARY:
      return append(static_cast<const arrow::LargeBinaryArray&>(array), out);
    default:
      break;
  }
  throw DataError(fmt::format("{}: holds {}, expected text or bytes. Fix: restore the file.", where,
                              array.type()->ToString()));
}

// The `bytes` of struct{bytes, path}; a picture that is only named by its path is not supported.
void append_pictures(const arrow::Array& array,
                     std::vector<std::string>& out,
                     const std::string& where) {
  check_no_nulls(array, where);
  const auto bytes = static_cast<const arrow::StructArray&>(array).GetFieldByName("bytes");
  require<DataError>(bytes != nullptr && bytes->null_count() == 0,
                     "{}: pictures without bytes (only their paths are stored). Fix: write the "
                     "dataset again with the pictures embedded.",
                     where);
  append_text(*bytes, out, where);
}

// Cells that are true or false, or 0 or 1.
void append_flags(const arrow::Array& array,
                  std::vector<std::optional<bool>>& out,
                  const std::string& where) {
  for (std::int64_t i = 0; i < array.length(); ++i) {
    if (array.IsNull(i)) {
      out.emplace_back();
    } else if (array.type_id() == Type::BOOL) {
      out.emplace_back(static_cast<const arrow::BooleanArray&>(array).Value(i));
    } else {
      require<DataError>(array.type_id() == Type::INT64,
                         "{}: holds {}, expected true or false. Fix: store the column as bool.",
                         where, array.type()->ToString());
      out.emplace_back(static_cast<const arrow::Int64Array&>(array).Value(i) != 0);
    }
  }
}

}  // namespace

ColumnKind kind_of(const arrow::DataType& type) {
  const arrow::DataType* inner = &type;
  while (is_any_list(inner->id()) || inner->id() == Type::EXTENSION) {
    inner = inner->id() == Type::EXTENSION
                ? static_cast<const arrow::ExtensionType&>(*inner).storage_type().get()
                : inner->field(0)->type().get();
  }
  if (scalar_type(*inner)) return ColumnKind::kNumbers;
  if (is_text(type.id())) return ColumnKind::kText;
  if (type.id() == Type::STRUCT &&
      static_cast<const arrow::StructType&>(type).GetFieldIndex("bytes") >= 0) {
    return ColumnKind::kPictures;
  }
  return ColumnKind::kOther;
}

TableChunk decode_column(const arrow::ChunkedArray& column, const std::string& where) {
  TableChunk out;
  const ColumnKind kind = kind_of(*column.type());
  require<DataError>(kind != ColumnKind::kOther,
                     "{}: holds {}, expected numbers, vectors, text or pictures. Fix: store the "
                     "column in one of these forms.",
                     where, column.type()->ToString());
  std::vector<at::Tensor> parts;
  for (const ArrayPtr& array : column.chunks()) {
    if (kind == ColumnKind::kNumbers) parts.push_back(decode_numbers(array, where));
    if (kind == ColumnKind::kText) append_text(*array, out.text, where);
    if (kind == ColumnKind::kPictures) append_pictures(*array, out.text, where);
  }
  if (!parts.empty()) {
    for (const at::Tensor& part : parts) {
      require<DataError>(
          part.size(1) == parts[0].size(1),
          "{}: rows of {} and of {} values. Fix: every row of a vector needs the same "
          "length.",
          where, parts[0].size(1), part.size(1));
    }
    out.value_LD = parts.size() == 1 ? parts[0] : at::cat(parts);
  }
  return out;
}

std::vector<std::optional<bool>> decode_flags(const arrow::ChunkedArray& column,
                                              const std::string& where) {
  std::vector<std::optional<bool>> out;
  for (const ArrayPtr& array : column.chunks()) append_flags(*array, out, where);
  return out;
}

}  // namespace wam
