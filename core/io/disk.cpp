#include "core/io/disk.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>

#include "core/base/errors.h"
#include "core/base/format.h"
#include "core/io/atomic_file.h"

namespace wam {

std::uint64_t free_space(const std::filesystem::path& folder, const std::string& doing) {
  std::error_code error;
  const auto space = std::filesystem::space(folder, error);
  require<DeviceError>(!error, "{}: the free space of {} cannot be read ({}).", doing,
                       folder.string(), error.message());
  return space.available;
}

void check_free_space(const std::filesystem::path& folder,
                      std::uint64_t bytes,
                      const std::string& doing) {
  const std::uint64_t available = free_space(folder, doing);
  require<DeviceError>(
      bytes <= available && available - bytes >= kDiskReserve,
      "{}: it takes {}, the disk under {} has {} free. Fix: free some space there, "
      "or choose another folder.",
      doing, human_bytes(static_cast<double>(bytes)), folder.string(),
      human_bytes(static_cast<double>(available)));
}

void rename_and_sync(const std::filesystem::path& from, const std::filesystem::path& to) {
  require<DeviceError>(std::rename(from.c_str(), to.c_str()) == 0, "renaming {} to {}: {}.",
                       from.string(), to.filename().string(), std::strerror(errno));
  sync_to_disk(to.has_parent_path() ? to.parent_path() : ".");
}

void remove_tree(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  require<DeviceError>(!error, "removing {}: {}.", path.string(), error.message());
}

void make_folders(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  require<DeviceError>(!error, "creating the folder {}: {}.", path.string(), error.message());
}

}  // namespace wam
