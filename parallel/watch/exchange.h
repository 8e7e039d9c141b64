#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <c10/util/intrusive_ptr.h>

#include "parallel/watch/judge.h"
#include "parallel/watch/rank_record.h"
#include "parallel/watch/stop_ballot.h"

namespace c10d {
class Store;
}

namespace wam {

struct ExchangeOptions {
  int rank = 0;
  int world_size = 1;
  std::string host;
  std::string host_of_rank_0;
  std::string store_holder;  // whose end it is when the store is gone: "rank 0"
  WatchLimits limits;
  std::chrono::milliseconds tick;           // between two records
  std::function<ProgressState()> progress;  // neither is called after `stop`
  std::function<std::string()> wish;        // why this rank wants to stop; empty when it does not
};

// What this rank tells the others and hears from them, over a connection to the store of its own.
//
// A rank writes one key, its record. Rank 0 reads all of them in one request, judges, and writes
// one key, the summary, which the others read: two requests a rank and second, whatever their
// number. While a verdict or a stop is on its way they follow more closely.
//
// The store has no time limit that can be relied on: a request to a frozen host waits for ever. So
// `run` has a thread of its own that may be left behind; whether rank 0 still answers is asked with
// `look_at_rank_0`, from another one.
//
// Threads: one runs `run`; the rest may be called from any.
class Exchange {
 public:
  using Clock = std::chrono::steady_clock;

  Exchange(c10::intrusive_ptr<c10d::Store> store, ExchangeOptions options);

  // Until `stop`, or until all is said after `leave`.
  void run();
  void stop();
  // The work of this rank is done. Rank 0 goes on until the others have left.
  void leave();
  void report(Failure failure);
  // Gives the verdict when nothing has been heard of rank 0 since `since` or for the limit,
  // whichever is later.
  void look_at_rank_0(Clock::time_point since, Clock::time_point now);

  // Nothing when the time is over first, or `stop` was called.
  std::optional<Verdict> wait_for_verdict(std::chrono::milliseconds limit);
  // Until all ranks that can know the verdict do, or rank 0 is gone; `limit` runs from the verdict.
  void wait_until_heard(std::chrono::milliseconds limit);
  // Whether `stop` was called within the limit.
  bool wait_until_stopping(std::chrono::milliseconds limit);
  // Whether `run` has returned.
  bool wait_until_done(std::chrono::milliseconds limit);

  [[nodiscard]] StopBallot& ballot() { return ballot_; }

 private:
  std::optional<RankRecord> next_record();
  void lead(const RankRecord& own);
  void follow(const RankRecord& own);
  [[nodiscard]] std::vector<RankRecord> read_records(const RankRecord& own);
  void take(const Summary& summary);
  void adopt(Verdict verdict);
  void lose_store(const std::string& error);
  void pause();
  [[nodiscard]] bool is_urgent() const;

  const c10::intrusive_ptr<c10d::Store> store_;
  const ExchangeOptions options_;
  StopBallot ballot_;

  // Of `run` alone.
  std::vector<std::string> keys_;  // by rank; of rank 0
  Judge judge_;
  Summary summary_;  // of rank 0
  bool has_summary_ = false;
  std::uint64_t beat_ = 0;

  std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  bool stopping_ = false;
  bool leaving_ = false;
  bool finished_ = false;  // all is said
  bool done_ = false;
  bool fresh_ = false;  // something to say at once
  std::optional<Failure> failure_;
  ProgressState last_progress_;
  Clock::time_point moved_ = Clock::now();
  StopWord stop_;
  bool stop_pending_ = false;
  bool stop_decided_ = false;
  std::uint64_t beat_of_rank_0_ = 0;
  Clock::time_point answered_ = Clock::now();
  std::optional<Verdict> verdict_;
  Clock::time_point verdict_at_;
  bool all_heard_ = false;
};

}  // namespace wam
