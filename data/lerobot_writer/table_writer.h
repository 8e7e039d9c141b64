#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace wam::lerobot_writer {

// One column of an episode's table. Vectors wider than 1 become fixed-size lists, pictures the
// struct {bytes, path} that the datasets library uses for its Image feature.
struct FloatColumn {
  std::vector<float> values;  // rows x width
  std::int64_t width = 1;
};
struct IntegerColumn {
  std::vector<std::int64_t> values;
};
struct PictureColumn {
  std::vector<std::vector<std::uint8_t>> files;  // complete PNG files
  std::vector<std::string> names;                // base names
};
struct DoubleColumn {
  std::vector<double> values;
};
struct TextColumn {
  std::vector<std::string> values;
};
struct TextListColumn {
  std::vector<std::vector<std::string>> values;
};
struct TableColumn {
  std::string name;
  std::variant<FloatColumn, IntegerColumn, PictureColumn, DoubleColumn, TextColumn, TextListColumn>
      content;
};

// Whom the file's metadata speak to: the datasets library ("huggingface"), which reads rows;
// nobody, as in lists of episodes; pandas, for which the text of a task is the row's name.
enum class TableKind { kRows, kList, kTasks };

// A parquet file with snappy compression, written from front to back. Its first rows decide the
// columns. Bytes depend on the columns and the version of Arrow alone.
// Errors: DeviceError naming the file; InvariantError when columns differ in length.
class TableFile {
 public:
  static constexpr std::int64_t kOneGroup = 0;

  TableFile(std::filesystem::path path, TableKind kind);
  ~TableFile();
  TableFile(const TableFile&) = delete;
  TableFile& operator=(const TableFile&) = delete;
  TableFile(TableFile&&) = delete;
  TableFile& operator=(TableFile&&) = delete;

  // The next rows, in row groups of their own of `group_rows`, or in one.
  void add(const std::vector<TableColumn>& columns, std::int64_t group_rows);
  // Without it the file is not readable.
  void finish();
  // Written so far.
  [[nodiscard]] std::int64_t bytes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// A whole file of rows.
void write_table(const std::filesystem::path& path, const std::vector<TableColumn>& columns);

}  // namespace wam::lerobot_writer
