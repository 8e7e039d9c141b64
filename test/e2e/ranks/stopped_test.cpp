// A signal to one rank stops all of them in order; what goes on from there is the same run.

#include <signal.h>

#include "test/e2e/support/rank_run.h"
#include "test/support/catch.h"

using Catch::Contains;
using wam::test::must_train;
using wam::test::RankRun;
using wam::test::shards;
using wam::test::TinyRuns;

TEST_CASE("ranks: SIGTERM to one of them saves on all, and the run goes on from there") {
  const TinyRuns runs;
  const TinyRuns::Overrides overrides{"train.steps=20", "checkpoint.every=0",
                                      "parallel.strategy=full_shard", "run.timeout_s=20"};
  must_train(runs, "straight", 3, overrides);

  RankRun start(runs, "killed", 3, overrides);
  REQUIRE(start.wait_for_step(3));
  start.rank(2).signal(SIGTERM);

  const auto codes = start.wait();
  INFO(start.outputs());
  CHECK(codes == std::vector<int>{0, 0, 0});
  CHECK_THAT(start.output(0), Contains("SIGTERM received by rank 2 (") &&
                                  Contains("saving after step ") &&
                                  Contains("stopped; the same command goes on"));
  REQUIRE(runs.losses("killed").size() < 20);

  RankRun second(runs, "killed", 3, overrides);
  CHECK(second.wait() == std::vector<int>{0, 0, 0});
  CHECK_THAT(second.output(0), Contains("resuming from killed/checkpoints/step_"));
  CHECK(runs.losses("killed") == runs.losses("straight"));
  const bool same_state = shards(runs, "killed", 20) == shards(runs, "straight", 20);
  CHECK(same_state);
}
