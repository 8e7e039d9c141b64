#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>

#include <fmt/core.h>

#include "test/e2e/support/tiny_run.h"
#include "test/support/catch.h"

// A run that a script restarts, and that crashes at the same place every time.

using Catch::Contains;
using wam::test::Outcome;
using wam::test::Program;
using wam::test::TinyRuns;

namespace {

std::filesystem::path record_of(const TinyRuns& runs) {
  return runs.path() / "run" / "attempts.json";
}

// Starts the run and ends it with `number` when it has said that it has done `step` and has a
// checkpoint of `checkpoint` (0: none is awaited).
Outcome start_and_signal(const TinyRuns& runs,
                         const TinyRuns::Overrides& overrides,
                         int number,
                         std::int64_t step,
                         std::int64_t checkpoint = 0) {
  Program program(runs.arguments("train", "run", overrides), runs.path());
  const auto is_there = [&] {
    return program.out().find(fmt::format("step {}/", step)) != std::string::npos &&
           (checkpoint == 0 || std::filesystem::exists(runs.checkpoint("run", checkpoint)));
  };
  while (program.is_running() && !is_there()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  program.signal(number);
  return program.wait();
}

}  // namespace

TEST_CASE(
    "crash loop: killed three times from the same step, the fourth start says so and leaves") {
  const TinyRuns runs;
  const TinyRuns::Overrides overrides{"train.steps=60", "checkpoint.every=0", "log.every=1"};
  for (int i = 0; i < 3; ++i) {
    REQUIRE(start_and_signal(runs, overrides, SIGKILL, 2).exit_code == -SIGKILL);
    REQUIRE(std::filesystem::exists(record_of(runs)));
  }

  const auto fourth = runs.train("run", overrides);

  CHECK(fourth.exit_code == 1);
  CHECK_THAT(fourth.err, Contains("the run crashed 3 times in a row after starting from step 0") &&
                             Contains("came to step ") &&
                             Contains("unknown end (killed, or the machine went down)") &&
                             Contains("The last lines of run/log.txt:\n  ") && Contains("Fix: ") &&
                             Contains("--set run.max_crashes=0"));
  CHECK(runs.train("run", overrides).exit_code == 1);
  auto again = overrides;
  again.emplace_back("run.max_crashes=0");
  const auto done = runs.must_train("run", again);
  CHECK_THAT(done.out, Contains("finished"));
  CHECK_FALSE(std::filesystem::exists(record_of(runs)));
}

TEST_CASE("crash loop: the error that ended each start is in the summary") {
  const TinyRuns runs;
  const TinyRuns::Overrides overrides{"train.steps=20",       "train.learning_rate=1.0e+30",
                                      "train.warmup=0",       "train.max_nonfinite=3",
                                      "checkpoint.every=100", "run.max_crashes=2"};
  CHECK(runs.train("run", overrides).exit_code == 1);
  const auto second = runs.train("run", overrides);
  CHECK_THAT(second.out, Contains("starts from step 0 that crashed, in a row: 1"));

  const auto third = runs.train("run", overrides);

  CHECK(third.exit_code == 1);
  CHECK_THAT(third.err, Contains("crashed 2 times in a row") &&
                            Contains("came to step 4, ended by: training: 3 updates in a row were "
                                     "not finite"));
  // What was wrong is mended: another recipe, another count.
  auto mended = overrides;
  mended.emplace_back("train.learning_rate=1.0e-4");
  mended.emplace_back("train.steps=5");
  CHECK(runs.must_train("run", mended).exit_code == 0);
}

TEST_CASE(
    "crash loop: progress and a stop of its own are no crash, nor is a recipe that is wrong") {
  const TinyRuns runs;
  const TinyRuns::Overrides overrides{"train.steps=400", "checkpoint.every=3", "log.every=1",
                                      "run.max_crashes=1"};
  CHECK(start_and_signal(runs, overrides, SIGKILL, 4, 3).exit_code == -SIGKILL);
  CHECK(start_and_signal(runs, overrides, SIGKILL, 10, 9).exit_code == -SIGKILL);
  // Each got further than the one before: nothing is refused.
  const auto stopped = start_and_signal(runs, overrides, SIGTERM, 16);
  INFO(stopped.out << stopped.err);
  CHECK(stopped.exit_code == 0);
  CHECK_FALSE(std::filesystem::exists(record_of(runs)));

  auto wrong = overrides;
  wrong.emplace_back("run.seed=5");
  for (int i = 0; i < 2; ++i) CHECK(runs.train("run", wrong).exit_code == 2);
  CHECK_FALSE(std::filesystem::exists(record_of(runs)));
}
