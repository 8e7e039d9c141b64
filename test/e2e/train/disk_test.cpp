#include <filesystem>

#include "test/e2e/support/tiny_run.h"
#include "test/support/catch.h"
#include "test/support/small_disk.h"

// Disks that are too small for a run's checkpoints, which take 5.4 MiB each here, beside a reserve
// of 16 MiB.

using Catch::Contains;
using wam::test::SmallDisk;
using wam::test::TinyRuns;

namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

}  // namespace

TEST_CASE("disk: no room for a single checkpoint is an error before the first step") {
  const TinyRuns runs;
  const SmallDisk disk(runs.path() / "run", 20 * kMiB);
  if (!disk.is_there()) return;

  const auto done = runs.train("run", {"train.steps=4"});

  INFO(done.out);
  CHECK(done.exit_code == 3);
  CHECK_THAT(done.err, Contains("checkpoints of this run: one takes 5.") &&
                           Contains(" MiB, the disk under run/checkpoints has ") &&
                           Contains(" MiB free. Fix: "));
  CHECK(runs.losses("run").empty());
  // A run that saves nothing needs no room.
  runs.must_train("run", {"train.steps=4", "checkpoint.every=0", "checkpoint.at_end=false"});
}

TEST_CASE("disk: room for some is a warning, and when it is full the last whole one stays") {
  const TinyRuns runs;
  const SmallDisk disk(runs.path() / "run", 30 * kMiB);
  if (!disk.is_there()) return;

  const auto done = runs.train("run", {"train.steps=10", "checkpoint.every=1"});

  CHECK(done.exit_code == 3);
  CHECK_THAT(done.out, Contains("warning: the disk will be full before the run ends: a checkpoint "
                                "takes 5.") &&
                           Contains("10 more will stand in run/checkpoints at once"));
  CHECK_THAT(done.err, Contains("saving the checkpoint of step 3: it takes 5."));
  const auto list = runs.run({"checkpoints", "run", "--verify"});
  CHECK(list.exit_code == 0);
  CHECK_THAT(list.out, Contains("2 ") && Contains("complete, latest, train goes on from here"));
  // What the message asks for: some space, and fewer that stay.
  std::filesystem::remove_all(runs.checkpoint("run", 1));
  const auto mended = runs.must_train("run", {"train.steps=10", "checkpoint.keep=1"});
  CHECK_THAT(mended.out, Contains("resuming from run/checkpoints/step_00000002"));
}
