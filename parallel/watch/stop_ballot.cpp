#include "parallel/watch/stop_ballot.h"

#include <algorithm>
#include <utility>

#include "core/base/errors.h"

namespace wam {

bool StopBallot::agreed() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !promised_ || stop_at_ || !gave_up_.empty(); });
  require<CommError>(gave_up_.empty(), "{}", gave_up_);
  if (stop_at_ && passed_ + 1 >= *stop_at_) return true;
  ++passed_;
  return false;
}

void StopBallot::check() {
  const std::lock_guard lock(mutex_);
  require<CommError>(gave_up_.empty(), "{}", gave_up_);
}

std::string StopBallot::reason() const {
  const std::lock_guard lock(mutex_);
  return reason_;
}

std::int64_t StopBallot::promise() {
  const std::lock_guard lock(mutex_);
  promised_ = true;
  return passed_;
}

void StopBallot::decide(std::int64_t stop_at, std::string reason) {
  const std::lock_guard lock(mutex_);
  invariant(promised_ && passed_ < stop_at, "the ranks stop where this one has passed");
  stop_at_ = stop_at;
  reason_ = std::move(reason);
  changed_.notify_all();
}

void StopBallot::give_up(std::string why) {
  const std::lock_guard lock(mutex_);
  gave_up_ = std::move(why);
  changed_.notify_all();
}

void count_ballots(const std::vector<RankRecord>& records, Summary& summary) {
  if (summary.stop_at) return;
  if (summary.stop_reason.empty()) {
    const auto wish = std::find_if(records.begin(), records.end(),
                                   [](const RankRecord& r) { return !r.stop.wish.empty(); });
    if (wish == records.end()) return;
    summary.stop_reason =
        fmt::format("{} by {}", wish->stop.wish, name_of_rank(wish->rank, wish->host));
  }
  std::int64_t highest = 0;
  for (const RankRecord& record : records) {
    if (!record.stop.passed) return;
    highest = std::max(highest, *record.stop.passed);
  }
  summary.stop_at = highest + 1;
}

}  // namespace wam
