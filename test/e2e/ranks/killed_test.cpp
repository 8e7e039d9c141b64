// A rank that is killed at any moment costs the steps since the last checkpoint, and no bit.

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <system_error>
#include <thread>

#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <signal.h>

#include "test/e2e/support/rank_run.h"
#include "test/support/catch.h"

using Catch::Contains;
using wam::test::file_content;
using wam::test::must_train;
using wam::test::num_lines;
using wam::test::RankRun;
using wam::test::shards;
using wam::test::TinyRuns;

namespace {

constexpr int kRanks = 3;

// How often a rank is killed; WAM_KILLS asks for more than a quick test wants.
int num_kills() {
  const char* wanted = std::getenv("WAM_KILLS");
  return wanted == nullptr ? 5 : std::atoi(wanted);
}

// Until a checkpoint grows. False when the ranks leave before.
bool wait_for_save(const TinyRuns& runs, const RankRun& start) {
  const auto is_growing = [](const auto& entry) { return entry.path().extension() == ".tmp"; };
  for (;;) {
    std::error_code being_renamed;
    const std::filesystem::directory_iterator entries(runs.path() / "killed" / "checkpoints",
                                                      being_renamed);
    if (std::any_of(begin(entries), end(entries), is_growing)) return true;
    if (start.has_ended()) return false;
  }
}

std::int64_t steps_done(const TinyRuns& runs) {
  const auto metrics = runs.path() / "killed" / "metrics.jsonl";
  return std::filesystem::exists(metrics) ? num_lines(metrics) : 0;
}

// Every checkpoint that claims to be complete is.
void check_checkpoints(const TinyRuns& runs) {
  const auto listed = runs.run({"checkpoints", "killed", "--verify", "--json"});
  for (const auto& checkpoint : nlohmann::json::parse(listed.out)) {
    INFO(checkpoint.dump());
    CHECK(checkpoint["state"] != "damaged");
  }
}

// What a summary of crashes would say of this one.
void check_attempt(const TinyRuns& runs, int victim) {
  const auto attempts =
      nlohmann::json::parse(file_content(runs.path() / "killed" / "attempts.json"))["attempts"];
  CHECK_THAT(attempts.back()["end"].get<std::string>(),
             Contains(fmt::format("rank {} (", victim)) && Contains("has not been heard for"));
}

void check_last_words(const RankRun& start, const std::vector<int>& codes, int victim) {
  for (int rank = 0; rank < kRanks; ++rank) {
    INFO("rank " << rank << ": " << start.output(rank));
    if (rank == victim) {
      CHECK(codes[static_cast<std::size_t>(rank)] == -SIGKILL);
      continue;
    }
    CHECK(codes[static_cast<std::size_t>(rank)] == 3);
    CHECK_THAT(start.output(rank), Contains(fmt::format("rank {} of {} leaves", rank, kRanks)) &&
                                       Contains(fmt::format("rank {} (", victim)) &&
                                       Contains("Fix: "));
  }
}

}  // namespace

TEST_CASE(
    "ranks: killed at random moments of training and saving, a run ends with the bits of a "
    "straight one") {
  const TinyRuns runs;
  const int kills = num_kills();
  const std::int64_t steps = 12 * kills;
  const TinyRuns::Overrides overrides{fmt::format("train.steps={}", steps), "checkpoint.every=2",
                                      "parallel.strategy=full_shard", "run.timeout_s=10",
                                      "checkpoint.keep=3"};
  must_train(runs, "straight", kRanks, overrides);
  std::random_device source;
  const unsigned seed = source();
  CAPTURE(seed);
  std::mt19937 random(seed);

  for (int kill = 0; kill < kills; ++kill) {
    const int victim = static_cast<int>(random() % kRanks);
    // Beyond the next checkpoint, so that the run gets on.
    const std::int64_t step = steps_done(runs) / 2 * 2 + 3 + static_cast<int>(random() % 4);
    const bool in_a_save = kill % 2 == 1;
    const int moment_ms = static_cast<int>(random() % (in_a_save ? 20 : 80));
    CAPTURE(kill, victim, step, in_a_save, moment_ms);
    RankRun start(runs, "killed", kRanks, overrides);
    REQUIRE(start.wait_for_step(step));
    if (in_a_save) REQUIRE(wait_for_save(runs, start));
    std::this_thread::sleep_for(std::chrono::milliseconds(moment_ms));
    start.rank(victim).signal(SIGKILL);
    check_last_words(start, start.wait(), victim);
    if (victim != 0) check_attempt(runs, victim);
    check_checkpoints(runs);
  }

  RankRun last(runs, "killed", kRanks, overrides);
  CHECK(last.wait() == std::vector<int>(kRanks, 0));
  CHECK_THAT(last.output(0), Contains("resuming from killed/checkpoints/step_"));
  CHECK(runs.losses("killed") == runs.losses("straight"));
  const bool same_state = shards(runs, "killed", steps) == shards(runs, "straight", steps);
  CHECK(same_state);
}
