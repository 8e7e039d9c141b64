#include "core/io/shared_folder.h"

#include <chrono>
#include <functional>
#include <system_error>
#include <thread>

#include <fmt/core.h>
#include <unistd.h>

#include "core/base/host_name.h"

namespace wam {
namespace {

constexpr std::chrono::hours kStale{24};

}  // namespace

std::filesystem::path private_name(const std::filesystem::path& path) {
  const std::size_t thread = std::hash<std::thread::id>{}(std::this_thread::get_id());
  return path.string() +
         fmt::format(".{}.{}.{:x}.tmp", host_name().value_or(""), ::getpid(), thread);
}

void remove_if_stale(const std::filesystem::path& path) {
  std::error_code ignored;  // another process may remove it at the same time
  const auto written = std::filesystem::last_write_time(path, ignored);
  if (ignored || std::filesystem::file_time_type::clock::now() - written < kStale) return;
  std::filesystem::remove(path, ignored);
}

}  // namespace wam
