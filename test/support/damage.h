#pragma once

#include <cstdint>
#include <filesystem>

namespace wam::test {

// Changes a bit of the byte that stands so many bytes before the end of the file.
void flip_byte(const std::filesystem::path& path, std::int64_t from_end);

}  // namespace wam::test
