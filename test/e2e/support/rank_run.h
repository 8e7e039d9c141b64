#pragma once

#include <filesystem>
#include <list>
#include <string>
#include <vector>

#include "test/dist/parallel/launch/rank_process.h"
#include "test/e2e/support/tiny_run.h"

namespace wam::test {

// Where a rank of a test runs.
struct RankPlace {
  std::filesystem::path folder;         // relative paths of the recipe are below it
  std::vector<std::string> start_with;  // words before the program's
  Variables variables;                  // beside those of torchrun, and in place of them
};

// A start of `wamtrain train` as several processes on this machine, with the variables of torchrun.
// The destructor kills those that are still there.
class RankRun {
 public:
  RankRun(const TinyRuns& runs,
          const std::string& run,
          int world_size,
          const TinyRuns::Overrides& overrides);
  // Each rank at a place of its own.
  RankRun(const TinyRuns& runs,
          const std::string& run,
          const std::vector<RankPlace>& places,
          const TinyRuns::Overrides& overrides);

  [[nodiscard]] RankProcess& rank(int rank) { return *ranks_.at(static_cast<std::size_t>(rank)); }
  // Until metrics.jsonl has so many lines. False when a rank has ended before.
  [[nodiscard]] bool wait_for_step(std::int64_t step) const;
  // Whether any rank has.
  [[nodiscard]] bool has_ended() const;
  // Exit codes by rank.
  std::vector<int> wait();
  // What a rank wrote, errors included.
  [[nodiscard]] std::string output(int rank) const;
  // Of all ranks, for messages of a test.
  [[nodiscard]] std::string outputs() const;

 private:
  std::filesystem::path metrics_;
  std::list<RankProcess> processes_;
  std::vector<RankProcess*> ranks_;
};

// Trains on so many ranks, and fails the test when that does not end well on all of them.
void must_train(const TinyRuns& runs,
                const std::string& run,
                int world_size,
                const TinyRuns::Overrides& overrides);

// How often a message stands in an output.
int count(const std::string& text, const std::string& part);

// The files of a checkpoint that hold the state arrays.
std::map<std::string, std::string> shards(const TinyRuns& runs,
                                          const std::string& run,
                                          std::int64_t step);

}  // namespace wam::test
