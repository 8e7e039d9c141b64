#include "data/lerobot_writer/table_writer.h"

#include <memory>
#include <utility>

#include <arrow/array/builder_binary.h>
#include <arrow/array/builder_nested.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/io/file.h>
#include <arrow/table.h>
#include <arrow/util/key_value_metadata.h>
#include <nlohmann/json.hpp>
#include <parquet/arrow/writer.h>
#include <parquet/properties.h>

#include "core/base/errors.h"

namespace wam::lerobot_writer {
namespace {

using nlohmann::ordered_json;

void check(const arrow::Status& status, const std::string& path) {
  require<DeviceError>(status.ok(), "Writing {}: {}.", path, status.ToString());
}

template <class T>
T take(arrow::Result<T> result, const std::string& path) {
  check(result.status(), path);
  return std::move(result).ValueUnsafe();
}

ordered_json value_feature(const char* type) {
  return {{"dtype", type}, {"_type", "Value"}};
}

// Builds the Arrow array of one column and the description that the datasets library reads.
struct ColumnBuilder {
  const std::string& path;
  ordered_json feature;

  std::shared_ptr<arrow::Array> operator()(const FloatColumn& column) {
    auto leaf = std::make_shared<arrow::FloatBuilder>();
    if (column.width == 1) {
      feature = value_feature("float32");
      check(leaf->AppendValues(column.values), path);
      return take(leaf->Finish(), path);
    }
    feature = {
        {"feature", value_feature("float32")}, {"length", column.width}, {"_type", "Sequence"}};
    arrow::FixedSizeListBuilder list(arrow::default_memory_pool(), leaf,
                                     static_cast<std::int32_t>(column.width));
    const auto rows = static_cast<std::int64_t>(column.values.size()) / column.width;
    check(list.AppendValues(rows), path);
    check(leaf->AppendValues(column.values), path);
    return take(list.Finish(), path);
  }

  std::shared_ptr<arrow::Array> operator()(const IntegerColumn& column) {
    feature = value_feature("int64");
    arrow::Int64Builder builder;
    check(builder.AppendValues(column.values), path);
    return take(builder.Finish(), path);
  }

  std::shared_ptr<arrow::Array> operator()(const PictureColumn& column) {
    feature = {{"_type", "Image"}};
    auto bytes = std::make_shared<arrow::BinaryBuilder>();
    auto name = std::make_shared<arrow::StringBuilder>();
    const auto type = arrow::struct_(
        {arrow::field("bytes", arrow::binary()), arrow::field("path", arrow::utf8())});
    arrow::StructBuilder builder(type, arrow::default_memory_pool(), {bytes, name});
    for (std::size_t i = 0; i < column.files.size(); ++i) {
      check(builder.Append(), path);
      check(
          bytes->Append(column.files[i].data(), static_cast<std::int32_t>(column.files[i].size())),
          path);
      check(name->Append(column.names[i]), path);
    }
    return take(builder.Finish(), path);
  }
};

}  // namespace

void write_table(const std::filesystem::path& path, const std::vector<TableColumn>& columns) {
  const std::string name = path.string();
  std::vector<std::shared_ptr<arrow::Field>> fields;
  std::vector<std::shared_ptr<arrow::Array>> arrays;
  ordered_json features;
  for (const auto& column : columns) {
    ColumnBuilder builder{name, {}};
    arrays.push_back(std::visit(builder, column.content));
    invariant(arrays.back()->length() == arrays.front()->length(), "columns of equal length");
    fields.push_back(arrow::field(column.name, arrays.back()->type()));
    features[column.name] = builder.feature;
  }
  const ordered_json metadata{{"info", {{"features", features}}}};
  const auto schema =
      arrow::schema(fields, arrow::key_value_metadata({"huggingface"}, {metadata.dump()}));
  const auto table = arrow::Table::Make(schema, arrays);
  const auto file = take(arrow::io::FileOutputStream::Open(name), name);
  const auto properties =
      parquet::WriterProperties::Builder().compression(parquet::Compression::SNAPPY)->build();
  const auto arrow_properties = parquet::ArrowWriterProperties::Builder().store_schema()->build();
  constexpr std::int64_t kRowsInGroup = 100;
  check(parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), file, kRowsInGroup,
                                   properties, arrow_properties),
        name);
  check(file->Close(), name);
}

}  // namespace wam::lerobot_writer
