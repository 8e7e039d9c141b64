#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "test/support/temp_folder.h"

namespace arrow {
class Array;
}  // namespace arrow

namespace wam::test {

// Columns of a test table, in forms that writers in the wild use.
struct TestColumn {
  std::string name;
  std::shared_ptr<arrow::Array> cells;
};

std::shared_ptr<arrow::Array> float_vectors(std::int64_t rows, std::int64_t width);  // fixed size
std::shared_ptr<arrow::Array> double_lists(std::int64_t rows, std::int64_t width);   // list
std::shared_ptr<arrow::Array> ragged_lists(std::int64_t rows);  // row r holds r % 2 + 1 values
std::shared_ptr<arrow::Array> integers(const std::vector<std::int64_t>& values);
std::shared_ptr<arrow::Array> floats(const std::vector<float>& values);
std::shared_ptr<arrow::Array> doubles(const std::vector<double>& values);
std::shared_ptr<arrow::Array> booleans(std::int64_t rows);  // odd rows are true
std::shared_ptr<arrow::Array> flags(const std::vector<std::optional<bool>>& values);
std::shared_ptr<arrow::Array> floats_with_null(std::int64_t rows);  // row 1 is null
std::shared_ptr<arrow::Array> strings(const std::vector<std::string>& values);
// struct{bytes, path}; an empty string stands for null bytes.
std::shared_ptr<arrow::Array> pictures(const std::vector<std::string>& files);

// Value d of row r of the vector columns.
inline double vector_value(std::int64_t r, std::int64_t d) {
  return static_cast<double>(r) + 0.25 * static_cast<double>(d);
}

// zstd, row groups of `group_rows`.
void write_table(const std::filesystem::path& path,
                 const std::vector<TestColumn>& columns,
                 std::int64_t group_rows = 1000);

// A v2.1 dataset of two episodes (numbers 0 and 3, five and three rows) with the vector columns
// observation.state (float32, 4) and action (float64 lists, 3), task_index, and no camera.
class SmallSet {
 public:
  SmallSet();
  [[nodiscard]] const std::filesystem::path& root() const noexcept { return folder_.path(); }
  // Replaces `from` by `to` in meta/NAME; throws when `from` is not there.
  void edit(const std::string& name, const std::string& from, const std::string& to) const;
  void write(const std::string& name, const std::string& text) const;
  [[nodiscard]] std::filesystem::path table(int number) const;

 private:
  TempFolder folder_;
};

// The text of the DataError that `action` throws, or "no error".
template <class F>
std::string data_error_of(F&& action);

}  // namespace wam::test

#include "core/base/errors.h"

template <class F>
std::string wam::test::data_error_of(F&& action) {
  try {
    action();
  } catch (const DataError& e) {
    return e.what();
  }
  return "no error";
}
