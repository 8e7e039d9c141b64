#include "core/train/stop_signal.h"

#include <atomic>
#include <csignal>

#include <unistd.h>

namespace wam {
namespace {

// A handler has no other way to reach the object; a lock-free atomic is async-signal-safe.
std::atomic<int> g_received{0};  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
static_assert(std::atomic<int>::is_always_lock_free);

void on_signal(int number) {
  if (g_received.exchange(number) != 0) _exit(128 + number);
}

}  // namespace

StopSignal::StopSignal() {
  g_received = 0;
  std::signal(SIGTERM, on_signal);
  std::signal(SIGINT, on_signal);
}

StopSignal::~StopSignal() {
  std::signal(SIGTERM, SIG_DFL);
  std::signal(SIGINT, SIG_DFL);
}

bool StopSignal::requested() const noexcept {
  return g_received != 0;
}

const char* StopSignal::name() const noexcept {
  if (g_received == SIGTERM) return "SIGTERM";
  return g_received == SIGINT ? "SIGINT" : "";
}

}  // namespace wam
