#include "apps/wamtrain/bench/host_facts.h"

#include <fstream>
#include <sstream>

#include <sys/resource.h>

namespace wam {
namespace {

bool lies_in(const std::filesystem::path& path, const std::filesystem::path& folder) {
  auto part = path.begin();
  for (const auto& expected : folder) {
    if (expected.empty()) continue;  // after a slash at the end
    if (part == path.end() || *part != expected) return false;
    ++part;
  }
  return true;
}

}  // namespace

std::string processor_name(std::istream& cpuinfo) {
  for (std::string line; std::getline(cpuinfo, line);) {
    const auto colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown processor";
}

std::string file_system_of(const std::filesystem::path& path, std::istream& mounts) {
  std::string longest;
  std::string type = "unknown file system";
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream fields(line);
    std::string device, folder, found;
    fields >> device >> folder >> found;
    // Of two at the same place, the later one hides the other.
    if (found.empty() || folder.size() < longest.size() || !lies_in(path, folder)) continue;
    longest = folder;
    type = found;
  }
  return type;
}

double processor_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

std::string processor_name() {
  std::ifstream in("/proc/cpuinfo");
  return processor_name(in);
}

std::string file_system_of(const std::filesystem::path& path) {
  std::ifstream in("/proc/self/mounts");
  std::error_code ignored;
  const auto absolute = std::filesystem::canonical(path, ignored);
  return file_system_of(absolute.empty() ? std::filesystem::absolute(path) : absolute, in);
}

}  // namespace wam
