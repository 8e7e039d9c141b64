#pragma once

#include <cstdint>
#include <filesystem>
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
struct TableColumn {
  std::string name;
  std::variant<FloatColumn, IntegerColumn, PictureColumn> content;
};

// A parquet file with snappy compression; its metadata tell the datasets library what the columns
// are ("huggingface" key). Bytes depend on the columns and the version of Arrow alone.
// Errors: DeviceError naming the file; InvariantError when columns differ in length.
void write_table(const std::filesystem::path& path, const std::vector<TableColumn>& columns);

}  // namespace wam::lerobot_writer
