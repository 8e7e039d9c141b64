#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace wam {

// What is left free when a checkpoint's space is counted, for the small files of a run.
inline constexpr std::uint64_t kDiskReserve = std::uint64_t{16} << 20;

// Bytes that this user may still write to the disk under `folder`, which exists. `doing` starts the
// message of the error: "saving the checkpoint of step 20". Errors: DeviceError.
std::uint64_t free_space(const std::filesystem::path& folder, const std::string& doing);

// Errors: DeviceError with both figures when there is less than `bytes` and the reserve.
void check_free_space(const std::filesystem::path& folder,
                      std::uint64_t bytes,
                      const std::string& doing);

// Renames a file or folder and flushes the folder that holds it: after it returns the new name
// survives a power cut. Errors: DeviceError naming both.
void rename_and_sync(const std::filesystem::path& from, const std::filesystem::path& to);

// Removes a file or folder with all that is in it. Errors: DeviceError.
void remove_tree(const std::filesystem::path& path);

// mkdir -p. Errors: DeviceError.
void make_folders(const std::filesystem::path& path);

}  // namespace wam
