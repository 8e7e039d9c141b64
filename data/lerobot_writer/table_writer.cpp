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

  std::shared_ptr<arrow::Array> operator()(const DoubleColumn& column) {
    feature = value_feature("float64");
    arrow::DoubleBuilder builder;
    check(builder.AppendValues(column.values), path);
    return take(builder.Finish(), path);
  }

  std::shared_ptr<arrow::Array> operator()(const TextColumn& column) {
    feature = value_feature("string");
    arrow::StringBuilder builder;
    check(builder.AppendValues(column.values), path);
    return take(builder.Finish(), path);
  }

  std::shared_ptr<arrow::Array> operator()(const TextListColumn& column) {
    feature = {{"feature", value_feature("string")}, {"_type", "Sequence"}};
    auto text = std::make_shared<arrow::StringBuilder>();
    arrow::ListBuilder builder(arrow::default_memory_pool(), text);
    for (const auto& texts : column.values) {
      check(builder.Append(), path);
      check(text->AppendValues(texts), path);
    }
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

// What pandas needs to make the column "task" the name of each row.
std::string pandas_of_tasks() {
  const auto column = [](const char* name, const char* pandas, const char* numpy) {
    return ordered_json{{"name", name},
                        {"field_name", name},
                        {"pandas_type", pandas},
                        {"numpy_type", numpy},
                        {"metadata", nullptr}};
  };
  return ordered_json{
      {"index_columns", {"task"}},
      {"column_indexes", ordered_json::array()},
      {"columns", {column("task_index", "int64", "int64"), column("task", "unicode", "object")}},
      {"creator", {{"library", "pyarrow"}, {"version", "15.0.0"}}},
      {"pandas_version", "2.0.0"}}
      .dump();
}

std::shared_ptr<const arrow::KeyValueMetadata> metadata_of(TableKind kind,
                                                           const ordered_json& features) {
  if (kind == TableKind::kList) return nullptr;
  if (kind == TableKind::kTasks) return arrow::key_value_metadata({"pandas"}, {pandas_of_tasks()});
  const ordered_json info{{"info", {{"features", features}}}};
  return arrow::key_value_metadata({"huggingface"}, {info.dump()});
}

}  // namespace

struct TableFile::Impl {
  std::string path;
  TableKind kind = TableKind::kRows;
  std::shared_ptr<arrow::io::FileOutputStream> file;
  std::unique_ptr<parquet::arrow::FileWriter> writer;

  std::shared_ptr<arrow::Table> table_of(const std::vector<TableColumn>& columns) const {
    std::vector<std::shared_ptr<arrow::Field>> fields;
    std::vector<std::shared_ptr<arrow::Array>> arrays;
    ordered_json features;
    for (const auto& column : columns) {
      ColumnBuilder builder{path, {}};
      arrays.push_back(std::visit(builder, column.content));
      invariant(arrays.back()->length() == arrays.front()->length(), "columns of equal length");
      fields.push_back(arrow::field(column.name, arrays.back()->type()));
      features[column.name] = builder.feature;
    }
    return arrow::Table::Make(arrow::schema(fields, metadata_of(kind, features)), arrays);
  }

  void open(const arrow::Schema& schema) {
    const auto properties =
        parquet::WriterProperties::Builder().compression(parquet::Compression::SNAPPY)->build();
    const auto arrow_properties = parquet::ArrowWriterProperties::Builder().store_schema()->build();
    writer = take(parquet::arrow::FileWriter::Open(schema, arrow::default_memory_pool(), file,
                                                   properties, arrow_properties),
                  path);
  }
};

TableFile::TableFile(std::filesystem::path path, TableKind kind) : impl_(std::make_unique<Impl>()) {
  impl_->path = path.string();
  impl_->kind = kind;
  impl_->file = take(arrow::io::FileOutputStream::Open(impl_->path), impl_->path);
}

TableFile::~TableFile() = default;

void TableFile::add(const std::vector<TableColumn>& columns, std::int64_t group_rows) {
  const auto table = impl_->table_of(columns);
  if (!impl_->writer) impl_->open(*table->schema());
  const std::int64_t rows = group_rows == kOneGroup ? table->num_rows() : group_rows;
  check(impl_->writer->WriteTable(*table, rows), impl_->path);
}

void TableFile::finish() {
  check(impl_->writer->Close(), impl_->path);
  check(impl_->file->Close(), impl_->path);
}

std::int64_t TableFile::bytes() const {
  return take(impl_->file->Tell(), impl_->path);
}

void write_table(const std::filesystem::path& path, const std::vector<TableColumn>& columns) {
  constexpr std::int64_t kRowsInGroup = 100;
  TableFile file(path, TableKind::kRows);
  file.add(columns, kRowsInGroup);
  file.finish();
}

}  // namespace wam::lerobot_writer
