#include "test/support/small_disk.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>

#include <sys/mount.h>

namespace wam::test {

SmallDisk::SmallDisk(const std::filesystem::path& folder, std::uint64_t bytes) : folder_(folder) {
  std::filesystem::create_directories(folder);
  const std::string size = "size=" + std::to_string(bytes);
  mounted_ = ::mount("tmpfs", folder.c_str(), "tmpfs", 0, size.c_str()) == 0;
  if (!mounted_) {
    std::cout << "SKIPPED: a small disk cannot be mounted here (" << std::strerror(errno) << ")\n";
  }
}

SmallDisk::~SmallDisk() {
  if (mounted_) ::umount2(folder_.c_str(), MNT_DETACH);
}

void SmallDisk::fill(std::uint64_t left_bytes) const {
  const std::uint64_t available = std::filesystem::space(folder_).available;
  if (available <= left_bytes) return;
  std::ofstream(folder_ / "filler") << std::string(available - left_bytes, 'x');
}

void SmallDisk::clear_filler() const {
  std::filesystem::remove(folder_ / "filler");
}

}  // namespace wam::test
