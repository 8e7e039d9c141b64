#include "apps/wamtrain/hash_progress.h"

#include <cstdio>

#include <fmt/core.h>
#include <unistd.h>

#include "core/base/format.h"

namespace wam {
namespace {

constexpr std::chrono::milliseconds kInterval{200};
constexpr const char* kClearLine = "\r\033[K";

}  // namespace

// Standard error: what is printed to a file or a pipe stays what it is.
HashProgressLine::HashProgressLine() : is_terminal_(::isatty(STDERR_FILENO) != 0) {}

HashProgressLine::~HashProgressLine() {
  if (is_terminal_) fmt::print(stderr, "{}", kClearLine);
}

HashProgress HashProgressLine::show() {
  if (!is_terminal_) return {};
  return [this](std::uint64_t done, std::uint64_t total) {
    const std::lock_guard lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (now - shown_ < kInterval) return;
    shown_ = now;
    fmt::print(stderr, "{}hashed {} of {}", kClearLine, human_bytes(static_cast<double>(done)),
               human_bytes(static_cast<double>(total)));
    std::fflush(stderr);
  };
}

}  // namespace wam
