#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "parallel/watch/rank_record.h"

namespace wam {

struct WatchLimits {
  std::chrono::milliseconds still;    // when all stand still, and one for so long, one hangs
  std::chrono::milliseconds silence;  // one that writes no record for so long is dead
  // From a collective that failed, in which a rank that writes no record is its cause.
  std::chrono::milliseconds doubt;
};

// Why a run cannot go on.
struct Verdict {
  std::string text;           // without the end of a sentence
  std::vector<int> culprits;  // the ranks that it is about
  bool silent = false;        // these are dead, or as good as dead
  // Where the first of them ended with an error of its own: what it says, and its exit code.
  std::string error = {};
  int exit_code = 0;
};

// Rank 0 judges what all ranks have written. Plain logic: no threads, no clock of its own.
class Judge {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  Judge(int world_size, WatchLimits limits, TimePoint start);

  // `records` by rank; one without a host has not been written yet. Called about once a second;
  // when the calls themselves paused (this process was stopped), nobody's silence counts before.
  std::optional<Verdict> judge(const std::vector<RankRecord>& records, TimePoint now);

 private:
  void listen(const std::vector<RankRecord>& records, TimePoint now);
  [[nodiscard]] std::vector<int> silent_for(const std::vector<RankRecord>& records,
                                            std::chrono::milliseconds limit,
                                            TimePoint now) const;
  [[nodiscard]] Verdict death(const std::vector<RankRecord>& records,
                              const std::vector<int>& ranks,
                              TimePoint now) const;
  std::optional<Verdict> judge_failures(const std::vector<RankRecord>& records, TimePoint now);
  [[nodiscard]] std::optional<Verdict> judge_hang(const std::vector<RankRecord>& records) const;

  struct Heard {
    std::uint64_t beat = 0;
    TimePoint at;
  };

  WatchLimits limits_;
  TimePoint last_call_;
  std::vector<Heard> heard_;                     // by rank
  std::optional<TimePoint> first_failure_seen_;  // of a collective
};

// Ranks that have issued different collectives under one number, or a different number of them up
// to the same step. Nothing when no two records contradict each other.
std::optional<Verdict> find_mismatch(const std::vector<RankRecord>& records);

}  // namespace wam
