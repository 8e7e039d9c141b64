#include "test/unit/data/lerobot/small_set.h"

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <parquet/arrow/writer.h>

#include "core/base/errors.h"
#include "core/io/atomic_file.h"

namespace wam::test {
namespace {

void check(const arrow::Status& status) {
  if (!status.ok()) throw InvariantError(status.ToString());
}

template <class Builder>
std::shared_ptr<arrow::Array> finish(Builder& builder) {
  std::shared_ptr<arrow::Array> out;
  check(builder.Finish(&out));
  return out;
}

constexpr const char* kInfo = R"({
  "codebase_version": "v2.1", "robot_type": "bench", "total_episodes": 2, "total_frames": 8,
  "chunks_size": 2, "fps": 10, "splits": {"train": "0:2"},
  "data_path": "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet",
  "video_path": "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4",
  "features": {
    "observation.state": {"dtype": "float32", "shape": [4], "names": null},
    "action": {"dtype": "float64", "shape": [3], "names": {"arm": ["x", "y"], "grip": ["g"]}},
    "task_index": {"dtype": "int64", "shape": [1], "names": null}
  }
})";

}  // namespace

std::shared_ptr<arrow::Array> float_vectors(std::int64_t rows, std::int64_t width) {
  auto values = std::make_shared<arrow::FloatBuilder>();
  arrow::FixedSizeListBuilder builder(arrow::default_memory_pool(), values,
                                      static_cast<std::int32_t>(width));
  for (std::int64_t r = 0; r < rows; ++r) {
    check(builder.Append());
    for (std::int64_t d = 0; d < width; ++d) {
      check(values->Append(static_cast<float>(vector_value(r, d))));
    }
  }
  return finish(builder);
}

std::shared_ptr<arrow::Array> double_lists(std::int64_t rows, std::int64_t width) {
  auto values = std::make_shared<arrow::DoubleBuilder>();
  arrow::ListBuilder builder(arrow::default_memory_pool(), values);
  for (std::int64_t r = 0; r < rows; ++r) {
    check(builder.Append());
    for (std::int64_t d = 0; d < width; ++d) check(values->Append(vector_value(r, d)));
  }
  return finish(builder);
}

std::shared_ptr<arrow::Array> ragged_lists(std::int64_t rows) {
  auto values = std::make_shared<arrow::FloatBuilder>();
  arrow::ListBuilder builder(arrow::default_memory_pool(), values);
  for (std::int64_t r = 0; r < rows; ++r) {
    check(builder.Append());
    for (std::int64_t d = 0; d <= r % 2; ++d) check(values->Append(1.0F));
  }
  return finish(builder);
}

std::shared_ptr<arrow::Array> integers(const std::vector<std::int64_t>& values) {
  arrow::Int64Builder builder;
  check(builder.AppendValues(values));
  return finish(builder);
}

std::shared_ptr<arrow::Array> floats(const std::vector<float>& values) {
  arrow::FloatBuilder builder;
  check(builder.AppendValues(values));
  return finish(builder);
}

std::shared_ptr<arrow::Array> doubles(const std::vector<double>& values) {
  arrow::DoubleBuilder builder;
  check(builder.AppendValues(values));
  return finish(builder);
}

std::shared_ptr<arrow::Array> booleans(std::int64_t rows) {
  arrow::BooleanBuilder builder;
  for (std::int64_t r = 0; r < rows; ++r) check(builder.Append(r % 2 == 1));
  return finish(builder);
}

std::shared_ptr<arrow::Array> flags(const std::vector<std::optional<bool>>& values) {
  arrow::BooleanBuilder builder;
  for (const auto value : values) check(value ? builder.Append(*value) : builder.AppendNull());
  return finish(builder);
}

std::shared_ptr<arrow::Array> floats_with_null(std::int64_t rows) {
  arrow::FloatBuilder builder;
  for (std::int64_t r = 0; r < rows; ++r) {
    check(r == 1 ? builder.AppendNull() : builder.Append(1.0F));
  }
  return finish(builder);
}

std::shared_ptr<arrow::Array> strings(const std::vector<std::string>& values) {
  arrow::StringBuilder builder;
  check(builder.AppendValues(values));
  return finish(builder);
}

std::shared_ptr<arrow::Array> pictures(const std::vector<std::string>& files) {
  auto bytes = std::make_shared<arrow::BinaryBuilder>();
  auto path = std::make_shared<arrow::StringBuilder>();
  const auto type =
      arrow::struct_({arrow::field("bytes", arrow::binary()), arrow::field("path", arrow::utf8())});
  arrow::StructBuilder builder(type, arrow::default_memory_pool(), {bytes, path});
  for (const std::string& file : files) {
    check(builder.Append());
    check(file.empty() ? bytes->AppendNull() : bytes->Append(file));
    check(path->Append("frame.png"));
  }
  return finish(builder);
}

void write_table(const std::filesystem::path& path,
                 const std::vector<TestColumn>& columns,
                 std::int64_t group_rows) {
  std::filesystem::create_directories(path.parent_path());
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  for (const TestColumn& column : columns) {
    fields.push_back(arrow::field(column.name, column.cells->type()));
    arrays.push_back(column.cells);
  }
  const auto table = arrow::Table::Make(arrow::schema(fields), arrays);
  const auto file = arrow::io::FileOutputStream::Open(path.string()).ValueOrDie();
  const auto properties =
      parquet::WriterProperties::Builder().compression(arrow::Compression::ZSTD)->build();
  check(parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), file, group_rows,
                                   properties));
  check(file->Close());
}

SmallSet::SmallSet() {
  write("info.json", kInfo);
  write("episodes.jsonl",
        "{\"episode_index\": 3, \"tasks\": [\"b\"], \"length\": 3}\n\n"
        "{\"episode_index\": 0, \"tasks\": [\"a\"], \"length\": 5}\n");
  write("tasks.jsonl",
        "{\"task_index\": 1, \"task\": \" stack the cups \"}\n"
        "{\"task_index\": 0, \"task\": \"open the drawer\"}\n");
  write_table(table(0),
              {{"observation.state", float_vectors(5, 4)},
               {"action", double_lists(5, 3)},
               {"timestamp", doubles({0, 0.1, 0.2, 0.3, 0.4})},
               {"task_index", integers({0, 0, 1, 1, 1})}},
              2);
  write_table(table(3), {{"observation.state", float_vectors(3, 4)},
                         {"action", double_lists(3, 3)},
                         {"timestamp", doubles({0, 0.1, 0.2})},
                         {"task_index", integers({1, 1, 7})}});
}

void SmallSet::write(const std::string& name, const std::string& text) const {
  std::filesystem::create_directories(root() / "meta");
  write_file_atomically(root() / "meta" / name, text);
}

void SmallSet::edit(const std::string& name, const std::string& from, const std::string& to) const {
  std::string text = read_file(root() / "meta" / name);
  const std::size_t at = text.find(from);
  if (at == std::string::npos)
    throw InvariantError("the test edits a text that is not there: " + from);
  write(name, text.replace(at, from.size(), to));
}

std::filesystem::path SmallSet::table(int number) const {
  return root() / fmt::format("data/chunk-{:03d}/episode_{:06d}.parquet", number / 2, number);
}

}  // namespace wam::test
