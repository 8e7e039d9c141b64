#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parallel/watch/progress.h"

namespace wam {

// What a rank says of an error.
struct Failure {
  enum class Kind { kOwn, kCollective };  // kCollective: the cause may well lie with another rank
  Kind kind = Kind::kOwn;
  std::string text;
  int exit_code = 0;  // kOwn: with which it ends

  bool operator==(const Failure&) const = default;
};

// What a rank has to say for the agreement on a stop (stop_ballot.h).
struct StopWord {
  std::string wish = {};                    // why it wants to stop; empty when it does not
  std::optional<std::int64_t> passed = {};  // its promise

  bool operator==(const StopWord&) const = default;
};

// What each rank writes into the store, about once a second.
struct RankRecord {
  int rank = 0;
  std::string host = {};  // empty: nothing heard of it yet
  std::uint64_t beat = 0;
  ProgressState progress = {};
  double still_s = 0;  // for how long the progress has been the same, by this rank's own clock
  std::optional<Failure> failure = {};
  StopWord stop = {};
  bool heard = false;  // knows the verdict
  bool left = false;   // its work is done; no more beats will come
};

// What rank 0 writes for all.
struct Summary {
  std::uint64_t beat = 0;
  std::string verdict;        // empty: all is well
  std::vector<int> culprits;  // ranks that the verdict is about
  std::string error = {};     // Verdict::error
  int exit_code = 0;          // Verdict::exit_code
  bool all_heard = false;     // all ranks that can know the verdict do
  std::string stop_reason;    // not empty: a stop is being agreed on
  std::optional<std::int64_t> stop_at;
};

std::string to_text(const RankRecord& record);
std::string to_text(const Summary& summary);
// Errors: InvariantError when the text is none of ours.
RankRecord parse_record(std::string_view text);
Summary parse_summary(std::string_view text);

// "rank 3 (node7)".
std::string name_of_rank(int rank, const std::string& host);
// "all_gather over shard of 12.0 MiB for 'gather blocks.3', number 4711".
std::string describe(const InHand& in_hand);
// "step 120, micro-step 2, forward and backward, waiting for all_gather …".
std::string position(const ProgressState& progress);

}  // namespace wam
