#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/train/stop_agreement.h"
#include "parallel/watch/rank_record.h"

namespace wam {

// Note [Agreement on a stop]
//
// Every rank asks "do we stop here?" at the same places of the program; the questions have numbers,
// 1, 2, 3, … Answering question n with no is to pass it. All ranks must first answer yes to the
// same number, and a rank cannot take back that it passed one.
//
//   1. A rank with a signal puts its wish into its record.
//   2. Rank 0 reads it and puts `stop_reason` into the summary: a stop is being agreed on.
//   3. The watch of each rank reads that, makes a promise, and writes it into its record: the
//   number
//      of the last question that its rank passed. From then on its rank waits at the next question.
//   4. Rank 0 has the promises of all ranks: `stop_at` = the highest of them + 1, once and for all.
//   5. Each rank reads it. Whoever waits, or asks later, answers no below that number and yes from
//   it.
//
// Why nobody passes `stop_at`. Promise and passing exclude each other (one lock): a question that
// was passed before the promise is counted in it, one that comes after it waits for step 5. So when
// rank 0 counts, rank r has passed at most promise(r) < stop_at, and what it passes from then on it
// passes knowing stop_at. No margin, no assumption about how far ranks run ahead of each other.
//
// Why nobody waits for ever. Promises are made by the watches, not by the ranks, so a rank that is
// in a collective, or far from its next question, does not delay them. A rank that waits at a
// question below stop_at goes on at step 5, so those that need it for a collective go on, too. When
// a rank dies before its promise, a verdict comes and ends the waiting with an error.
//
// A run that ends first: its ranks ask equally many questions, so a stop_at beyond the last one is
// beyond it on every rank, and all finish. A rank that leaves writes a last promise, all that it
// passed. One that has not begun promises 0.
//
// One agreement a run: further wishes change nothing.

// One rank's part.
// Threads: the rank's own asks; its watch calls the rest.
class StopBallot final : public StopAgreement {
 public:
  bool agreed() override;
  void check() override;
  [[nodiscard]] std::string reason() const override;

  // The last question passed; none is passed from now on before `decide`.
  std::int64_t promise();
  void decide(std::int64_t stop_at, std::string reason);
  // No decision will come: who waits or asks gets a CommError with this text.
  void give_up(std::string why);

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::int64_t passed_ = 0;
  bool promised_ = false;
  std::optional<std::int64_t> stop_at_;
  std::string reason_;
  std::string gave_up_;
};

// Rank 0's part: reads the records, fills in stop_reason and stop_at of the summary.
void count_ballots(const std::vector<RankRecord>& records, Summary& summary);

}  // namespace wam
