#pragma once

#include <filesystem>
#include <istream>
#include <string>

namespace wam {

// What a figure of the host depends on, by name: "AMD EPYC 9554 64-Core Processor"; "unknown
// processor" where the kernel does not say.
std::string processor_name(std::istream& cpuinfo);
// The type of the file system that holds an absolute path: "ext4", "nfs4"; "unknown file system".
std::string file_system_of(const std::filesystem::path& path, std::istream& mounts);

// Seconds that processors have worked for all threads of this program, beginning and end included.
double processor_seconds();

// The same of this machine. `path` need not be absolute.
std::string processor_name();
std::string file_system_of(const std::filesystem::path& path);

}  // namespace wam
