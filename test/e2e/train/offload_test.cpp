#include "test/e2e/support/tiny_run.h"
#include "test/support/catch.h"

// State in host memory changes where a run keeps its numbers, not the numbers.

using wam::test::TinyRuns;

TEST_CASE("offload: the same bits, a run goes on with the state where the recipe says") {
  const TinyRuns runs;
  const auto with = [](TinyRuns::Overrides overrides) {
    overrides.insert(overrides.end(), {"train.steps=4", "checkpoint.every=2"});
    return overrides;
  };
  runs.must_train("device", with({}));

  const auto offloaded = runs.must_train("host", with({"parallel.offload=optimizer"}));

  CHECK_THAT(offloaded.out, Catch::Contains("host memory: optimizer "));
  CHECK(runs.losses("host") == runs.losses("device"));
  CHECK((runs.state("host", 4) == runs.state("device", 4)));

  runs.must_train("to_host", with({"parallel.offload=optimizer",
                                   "checkpoint.resume=device/checkpoints/step_00000002"}));
  runs.must_train("to_device", with({"checkpoint.resume=host/checkpoints/step_00000002"}));
  CHECK((runs.state("to_host", 4) == runs.state("device", 4)));
  CHECK((runs.state("to_device", 4) == runs.state("device", 4)));
}
