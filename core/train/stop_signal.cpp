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
  const int before = g_received.exchange(number);
  if (before != 0 && before != SIGUSR1) _exit(128 + number);
}

// Asks for nothing new when a stop is on its way.
void on_warning(int number) {
  int none = 0;
  g_received.compare_exchange_strong(none, number);
}

}  // namespace

StopSignal::StopSignal(OnStop on_stop) : on_stop_(on_stop) {
  g_received = 0;
  if (on_stop == OnStop::kEnd) return;
  std::signal(SIGTERM, on_signal);
  std::signal(SIGINT, on_signal);
  std::signal(SIGUSR1, on_warning);
}

StopSignal::~StopSignal() {
  if (on_stop_ == OnStop::kEnd) return;
  std::signal(SIGTERM, SIG_DFL);
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGUSR1, SIG_DFL);
}

bool StopSignal::requested() const noexcept {
  return g_received != 0;
}

const char* StopSignal::name() const noexcept {
  switch (g_received) {
    case SIGTERM:
      return "SIGTERM";
    case SIGINT:
      return "SIGINT";
    case SIGUSR1:
      return "SIGUSR1";
    default:
      return "";
  }
}

}  // namespace wam
