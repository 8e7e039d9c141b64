#include "parallel/watch/exchange.h"

#include <algorithm>
#include <utility>

#include <torch/csrc/distributed/c10d/Store.hpp>

#include "core/base/errors.h"
#include "core/base/format.h"

namespace wam {
namespace {

using std::chrono::milliseconds;

// Between looks at the stop signal, and between records when something is on its way.
constexpr milliseconds kShortTick{100};
constexpr const char* kSummaryKey = "watch/summary";

std::string record_key(int rank) {
  return fmt::format("watch/rank/{}", rank);
}

std::string_view text_of(const std::vector<std::uint8_t>& value) {
  return {reinterpret_cast<const char*>(value.data()), value.size()};
}

// One line, without the end of a sentence.
std::string reason_of(const std::string& error) {
  std::string line = first_line(error);
  line.resize(line.find_last_not_of(" .?!") + 1);
  return line;
}

// What other threads do does not move a rank that waits in a collective.
bool same_place(const ProgressState& a, const ProgressState& b) {
  return (b.in_hand || a.moves == b.moves) && a.phase == b.phase && a.step == b.step &&
         a.micro_step == b.micro_step && a.issued == b.issued && a.completed == b.completed;
}

bool contains(const std::vector<int>& ranks, int rank) {
  return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

}  // namespace

Exchange::Exchange(c10::intrusive_ptr<c10d::Store> store, ExchangeOptions options)
    : store_(std::move(store)),
      options_(std::move(options)),
      judge_(options_.world_size, options_.limits, Clock::now()) {
  for (int rank = 0; rank < options_.world_size; ++rank) keys_.push_back(record_key(rank));
}

void Exchange::run() {
  try {
    if (options_.rank == 0) {
      // Makes those keys that are not there yet: reading one would wait for it.
      for (const std::string& key : keys_) store_->append(key, {});
    }
    while (const auto record = next_record()) {
      options_.rank == 0 ? lead(*record) : follow(*record);
      pause();
    }
  } catch (const Error& error) {
    adopt({.text = error.what(), .culprits = {options_.rank}});
  } catch (const std::exception& error) {
    lose_store(error.what());
  }
  const std::lock_guard lock(mutex_);
  done_ = true;
  changed_.notify_all();
}

std::optional<RankRecord> Exchange::next_record() {
  const std::lock_guard lock(mutex_);
  if (stopping_ || finished_) return std::nullopt;
  fresh_ = false;
  ProgressState progress = options_.progress();
  if (leaving_) progress.phase = Phase::kLeaving;
  const auto now = Clock::now();
  if (!same_place(last_progress_, progress)) moved_ = now;
  last_progress_ = progress;
  stop_.wish = options_.wish();
  // Those who have not passed what this rank has passed will wait for it in vain.
  if (leaving_) stop_.passed = ballot_.promise();
  return RankRecord{.rank = options_.rank,
                    .host = options_.host,
                    .beat = ++beat_,
                    .progress = std::move(progress),
                    .still_s = std::chrono::duration<double>(now - moved_).count(),
                    .failure = failure_,
                    .stop = stop_,
                    .heard = verdict_.has_value(),
                    .left = leaving_ && options_.rank != 0};
}

void Exchange::follow(const RankRecord& own) {
  store_->set(keys_[static_cast<std::size_t>(own.rank)], to_text(own));
  if (own.left) {
    // Answered when the store has the record.
    store_->check({kSummaryKey});
    const std::lock_guard lock(mutex_);
    finished_ = true;
    return;
  }
  if (!has_summary_) has_summary_ = store_->check({kSummaryKey});
  if (has_summary_) take(parse_summary(store_->get_to_str(kSummaryKey)));
}

std::vector<RankRecord> Exchange::read_records(const RankRecord& own) {
  const auto texts = store_->multiGet(keys_);
  std::vector<RankRecord> records(texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (!texts[i].empty()) records[i] = parse_record(text_of(texts[i]));
    records[i].rank = static_cast<int>(i);
  }
  records.front() = own;
  return records;
}

void Exchange::lead(const RankRecord& own) {
  const auto records = read_records(own);
  bool silent_culprits = false;
  {
    const std::lock_guard lock(mutex_);
    silent_culprits = verdict_ && verdict_->silent;
  }
  if (summary_.verdict.empty()) {
    if (auto verdict = judge_.judge(records, Clock::now())) {
      summary_.verdict = verdict->text;
      summary_.culprits = verdict->culprits;
      summary_.error = verdict->error;
      summary_.exit_code = verdict->exit_code;
      adopt(std::move(*verdict));
    }
  } else {
    summary_.all_heard = std::all_of(records.begin(), records.end(), [&](const RankRecord& r) {
      return r.heard || r.left || (silent_culprits && contains(summary_.culprits, r.rank));
    });
  }
  count_ballots(records, summary_);
  summary_.beat = own.beat;
  store_->set(kSummaryKey, to_text(summary_));
  take(summary_);
  const bool alone = std::all_of(records.begin() + 1, records.end(),
                                 [](const RankRecord& record) { return record.left; });
  const std::lock_guard lock(mutex_);
  finished_ = leaving_ && alone;
}

void Exchange::take(const Summary& summary) {
  if (!summary.verdict.empty()) {
    adopt({.text = summary.verdict,
           .culprits = summary.culprits,
           .error = summary.error,
           .exit_code = summary.exit_code});
  }
  const std::lock_guard lock(mutex_);
  if (std::exchange(beat_of_rank_0_, summary.beat) != summary.beat) answered_ = Clock::now();
  if (summary.all_heard && !std::exchange(all_heard_, true)) changed_.notify_all();
  // Rank 0 may go now, and the store with it.
  if (all_heard_ && options_.rank != 0) finished_ = true;
  if (!summary.stop_reason.empty() && !stop_.passed) {
    stop_.passed = ballot_.promise();
    fresh_ = true;
  }
  stop_pending_ = !summary.stop_reason.empty() && !summary.stop_at;
  if (summary.stop_at && !std::exchange(stop_decided_, true)) {
    ballot_.decide(*summary.stop_at, summary.stop_reason);
  }
}

// The first one stays.
void Exchange::adopt(Verdict verdict) {
  const std::lock_guard lock(mutex_);
  if (verdict_ || stopping_) return;
  ballot_.give_up(verdict.text);
  verdict_ = std::move(verdict);
  verdict_at_ = Clock::now();
  fresh_ = true;
  changed_.notify_all();
}

void Exchange::lose_store(const std::string& error) {
  Verdict verdict{.text = {}, .culprits = {0}, .silent = true};
  {
    const std::lock_guard lock(mutex_);
    all_heard_ = true;  // nobody can be told any more
    changed_.notify_all();
    // Rank 0 has left, after this rank or on the verdict.
    if (stopping_ || finished_) return;
    const std::string holder = options_.store_holder == "rank 0"
                                   ? name_of_rank(0, options_.host_of_rank_0)
                                   : options_.store_holder;
    verdict.text = fmt::format("{} is gone: the store that it held does not work any more ({})",
                               holder, reason_of(error));
  }
  adopt(std::move(verdict));
}

void Exchange::look_at_rank_0(Clock::time_point since, Clock::time_point now) {
  Verdict verdict{.text = {}, .culprits = {0}, .silent = true};
  {
    const std::lock_guard lock(mutex_);
    const auto silence = now - std::max(since, answered_);
    if (silence < options_.limits.silence || leaving_ || done_) return;
    verdict.text = fmt::format(
        "{} has not been heard for {}: the process died, or its host hangs or cannot be reached",
        name_of_rank(0, options_.host_of_rank_0),
        human_seconds(std::chrono::duration<double>(silence).count()));
    all_heard_ = true;
  }
  adopt(std::move(verdict));
}

bool Exchange::is_urgent() const {
  return verdict_ || failure_ || leaving_ || stop_pending_;
}

void Exchange::pause() {
  std::unique_lock lock(mutex_);
  const auto end = Clock::now() + (is_urgent() ? kShortTick : options_.tick);
  while (!stopping_ && !finished_ && !fresh_ && Clock::now() < end) {
    changed_.wait_for(lock, std::min(kShortTick, options_.tick));
    if (!stopping_ && stop_.wish.empty() && !options_.wish().empty()) return;
  }
}

void Exchange::stop() {
  const std::lock_guard lock(mutex_);
  stopping_ = true;
  changed_.notify_all();
}

void Exchange::leave() {
  const std::lock_guard lock(mutex_);
  leaving_ = true;
  fresh_ = true;
  changed_.notify_all();
}

void Exchange::report(Failure failure) {
  const std::lock_guard lock(mutex_);
  failure_ = std::move(failure);
  fresh_ = true;
  changed_.notify_all();
}

std::optional<Verdict> Exchange::wait_for_verdict(milliseconds limit) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, limit, [this] { return verdict_ || stopping_; });
  return verdict_;
}

void Exchange::wait_until_heard(milliseconds limit) {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, verdict_at_ + limit, [this] { return all_heard_; });
}

bool Exchange::wait_until_stopping(milliseconds limit) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, limit, [this] { return stopping_; });
}

bool Exchange::wait_until_done(milliseconds limit) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, limit, [this] { return done_; });
}

}  // namespace wam
