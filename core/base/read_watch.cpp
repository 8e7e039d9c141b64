#include "core/base/read_watch.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include "core/base/now_reading.h"

namespace wam {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

// Of the limit: when a reading that takes long is named, and how often is looked.
constexpr int kSlowShare = 8;
constexpr int kLookShare = 40;

}  // namespace

ReadWatch::ReadWatch(ReadWatchOptions options)
    : options_(std::move(options)), thread_([this] { watch(); }) {}

ReadWatch::~ReadWatch() {
  {
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
  }
  ends_.notify_all();
  thread_.join();
}

void ReadWatch::watch() {
  const milliseconds look =
      std::clamp(options_.limit / kLookShare, milliseconds(1), milliseconds(1000));
  std::optional<std::uint64_t> seen;  // the reading that was the longest at the last look
  Clock::duration held{0};
  bool named = false;
  auto last = Clock::now();
  std::unique_lock lock(mutex_);
  while (!ends_.wait_for(lock, look, [&] { return has_ended_; })) {
    const auto now = Clock::now();
    const Clock::duration since =
        std::min<Clock::duration>(now - std::exchange(last, now), 2 * look);
    const std::optional<ReadInHand> read = longest_read();
    if (!read || read->number != seen) {
      seen = read ? std::optional(read->number) : std::nullopt;
      held = {};
      named = false;
      continue;
    }
    held += since;
    const std::string line = fmt::format("{} is being read for {:.1f} s", read->file,
                                         std::chrono::duration<double>(held).count());
    if (held >= options_.limit) {
      options_.on_stall(fmt::format(
          "waiting for data: {}. Either the file system does not answer or it is far too slow. "
          "Fix: look at the file and its file system (ls, df, dmesg), or raise run.timeout_s.",
          line));
      return;
    }
    if (named || held < options_.limit / kSlowShare) continue;
    named = true;
    if (options_.on_slow) options_.on_slow("waiting for data: " + line);
  }
}

}  // namespace wam
