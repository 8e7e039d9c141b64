#include "test/e2e/support/tiny_run.h"
#include "test/support/catch.h"

using wam::test::TinyRuns;

TEST_CASE("non-finite: a run that blew up stops with a message that names unit and tensor") {
  const TinyRuns runs;

  const auto done =
      runs.train("run", {"train.steps=20", "train.learning_rate=1.0e+30", "train.warmup=0",
                         "train.max_nonfinite=3", "checkpoint.every=1"});

  INFO(done.out << done.err);
  CHECK(done.exit_code == 1);
  CHECK_THAT(done.out, Catch::Contains("the update was skipped. First not finite: the gradient of "
                                       "unit ") &&
                           Catch::Contains(", tensor "));
  CHECK_THAT(done.err, Catch::Contains("training: 3 updates in a row were not finite, the last at "
                                       "step 4") &&
                           Catch::Contains("Fix: "));
  // The first step applied, the next three did not: a line each.
  CHECK(runs.losses("run").size() == 4);
  CHECK((runs.state("run", 3) == runs.state("run", 1)));
}
