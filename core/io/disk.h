#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace wam {

// Errors: DeviceError with both figures when the disk under `folder` (which exists) has less than
// `bytes` and a reserve of 16 MiB free. `doing` starts the message: "saving the checkpoint of step
// 20".
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
