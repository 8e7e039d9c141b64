// Disks and files of several ranks: what was whole before stays, and each fault is said once.

#include <filesystem>

#include <signal.h>

#include "test/e2e/support/rank_run.h"
#include "test/support/catch.h"
#include "test/support/small_disk.h"

namespace fs = std::filesystem;
using Catch::Contains;
using wam::test::count;
using wam::test::must_train;
using wam::test::RankRun;
using wam::test::shards;
using wam::test::SmallDisk;
using wam::test::TinyRuns;

namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr const char* kSecondShard = "shard_00001_of_00002.safetensors";

const TinyRuns::Overrides kTenSteps{"train.steps=10", "checkpoint.every=2",
                                    "parallel.strategy=full_shard", "run.timeout_s=20"};

}  // namespace

TEST_CASE("ranks: checkpoints whose second shard is damaged are passed over, and named once") {
  const TinyRuns runs;
  must_train(runs, "run", 2, kTenSteps);
  const auto whole = shards(runs, "run", 10);
  wam::test::damage(runs.checkpoint("run", 10) / kSecondShard);
  fs::resize_file(runs.checkpoint("run", 8) / kSecondShard, 5000);
  fs::remove(runs.checkpoint("run", 6) / kSecondShard);
  fs::resize_file(runs.checkpoint("run", 4) / "manifest.json", 0);

  RankRun start(runs, "run", 2, kTenSteps);

  CHECK(start.wait() == std::vector<int>{0, 0});
  const std::string said = start.outputs();
  INFO(said);
  const std::string over = "passing over run/checkpoints/step_000000";
  CHECK(count(said, over) == 4);
  CHECK_THAT(said,
             Contains(over + "10: ") && Contains("the content of " + std::string(kSecondShard)));
  CHECK_THAT(said, Contains(std::string(kSecondShard) + " has 5000 bytes, expected "));
  CHECK_THAT(said, Contains(over + "06: ") && Contains("cannot be opened"));
  CHECK_THAT(said, Contains("manifest.json: it is not a whole manifest (0 bytes)"));
  CHECK_THAT(said, Contains("resuming from run/checkpoints/step_00000002"));
  // Two ranks, as before: the same bits.
  const bool same_state = shards(runs, "run", 10) == whole;
  CHECK(same_state);
}

TEST_CASE("ranks: a disk that is full ends all with its figures, and the last whole one stays") {
  const TinyRuns runs;
  const SmallDisk disk(runs.path() / "run", 30 * kMiB);
  if (!disk.is_there()) return;

  RankRun start(
      runs, "run", 2,
      {"train.steps=10", "checkpoint.every=1", "run.timeout_s=20", "parallel.strategy=full_shard"});

  CHECK(start.wait() == std::vector<int>{3, 3});
  INFO(start.outputs());
  CHECK(count(start.outputs(), " MiB free. Fix: free some") == 1);
  CHECK_THAT(start.outputs(), Contains("saving the checkpoint of step 3: it takes 5."));
  const auto listed = runs.run({"checkpoints", "run", "--verify"});
  CHECK(listed.exit_code == 0);
  CHECK_THAT(listed.out, Contains("complete, latest, train goes on from here"));
  CHECK_FALSE(fs::exists(runs.path() / "run/checkpoints/step_00000003.tmp"));
}

TEST_CASE("ranks: a run whose second rank dies at the same step each time comes to an end") {
  const TinyRuns runs;
  const TinyRuns::Overrides overrides{"train.steps=60", "checkpoint.every=0", "run.max_crashes=2",
                                      "run.timeout_s=4"};
  for (int crash = 0; crash < 2; ++crash) {
    fs::remove(runs.path() / "run/metrics.jsonl");  // its lines would be taken for this start's
    RankRun start(runs, "run", 2, overrides);
    REQUIRE(start.wait_for_step(2));
    start.rank(1).signal(SIGKILL);
    CHECK(start.wait() == std::vector<int>{3, -SIGKILL});
  }

  RankRun third(runs, "run", 2, overrides);

  CHECK(third.wait() == std::vector<int>{1, 1});
  INFO(third.outputs());
  CHECK(count(third.outputs(), "the run crashed 2 times in a row after starting from step 0") == 1);
  CHECK_THAT(third.output(0), Contains("rank 1 (") && Contains("has not been heard for"));
}
