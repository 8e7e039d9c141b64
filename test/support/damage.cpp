#include "test/support/damage.h"

#include <fstream>

namespace wam::test {

void flip_byte(const std::filesystem::path& path, std::int64_t from_end) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(-from_end, std::ios::end);
  const int byte = file.get();
  file.seekp(-from_end, std::ios::end);
  file.put(static_cast<char>(byte ^ 0x10));
}

}  // namespace wam::test
