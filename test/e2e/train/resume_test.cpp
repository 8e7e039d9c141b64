#include <chrono>
#include <csignal>
#include <random>
#include <thread>

#include <fmt/core.h>

#include "test/e2e/support/tiny_run.h"
#include "test/support/catch.h"

// A run that is stopped and goes on is, bit for bit, the run that was never stopped.

using wam::test::num_lines;
using wam::test::Program;
using wam::test::Size;
using wam::test::TinyRuns;

namespace {

using std::chrono::milliseconds;

void sleep_ms(int time) {
  std::this_thread::sleep_for(milliseconds(time));
}

// Waits until the run has done `steps` steps. False when the process has ended before.
bool wait_for_step(Program& program, const TinyRuns& runs, std::int64_t steps) {
  while (program.is_running()) {
    if (num_lines(runs.path() / "killed" / "metrics.jsonl") >= steps) return true;
    sleep_ms(2);
  }
  return false;
}

// The same, and until there is a checkpoint: it is written while the next steps are computed.
bool wait_for_checkpoint(Program& program, const TinyRuns& runs, std::int64_t steps) {
  if (!wait_for_step(program, runs, steps)) return false;
  while (program.is_running()) {
    if (std::filesystem::exists(runs.path() / "killed" / "checkpoints" / "latest")) return true;
    sleep_ms(2);
  }
  return false;
}

void check_equal_runs(const TinyRuns& runs, std::int64_t last_step) {
  const auto losses = runs.losses("straight");
  REQUIRE(losses.size() == static_cast<std::size_t>(last_step));
  CHECK(runs.losses("killed") == losses);
  // Not CHECK(a == b), which would print megabytes.
  const bool same_state = runs.state("killed", last_step) == runs.state("straight", last_step);
  CHECK(same_state);
}

// Kills the run at each of these steps, at any moment of the step, and lets it end.
void kill_and_finish(const TinyRuns& runs,
                     const TinyRuns::Overrides& overrides,
                     const std::vector<std::int64_t>& kill_steps,
                     int step_ms) {
  std::random_device random;
  for (const auto step : kill_steps) {
    const int moment_ms = static_cast<int>(random() % static_cast<unsigned>(step_ms));
    INFO(fmt::format("killed {} ms after step {}", moment_ms, step));
    Program program(runs.arguments("train", "killed", overrides), runs.path());
    REQUIRE(wait_for_checkpoint(program, runs, step));
    sleep_ms(moment_ms);
    program.signal(SIGKILL);
    CHECK(program.wait().exit_code == -SIGKILL);
  }
  const auto done = runs.must_train("killed", overrides);
  CHECK_THAT(done.out, Catch::Contains("resuming from killed/checkpoints/step_"));
}

}  // namespace

TEST_CASE("resume: the tiny recipe, killed twice, ends with the bits of a straight run") {
  const TinyRuns runs(Size::kRecipe, 6);
  const TinyRuns::Overrides overrides{"train.steps=40", "checkpoint.every=5"};
  runs.must_train("straight", overrides);
  std::random_device random;
  const std::int64_t first = 6 + random() % 12;

  kill_and_finish(runs, overrides, {first, first + 5 + random() % 12}, 400);

  check_equal_runs(runs, 40);
}

TEST_CASE("resume: killed at five moments in a row") {
  const TinyRuns runs;
  const TinyRuns::Overrides overrides{"train.steps=30", "checkpoint.every=3", "checkpoint.keep=2"};
  runs.must_train("straight", overrides);

  kill_and_finish(runs, overrides, {4, 8, 12, 16, 20}, 100);

  check_equal_runs(runs, 30);
}

TEST_CASE("resume: killed before its first checkpoint, a run starts afresh without a trace") {
  const TinyRuns runs;
  const TinyRuns::Overrides overrides{"train.steps=6", "checkpoint.every=0"};
  runs.must_train("straight", overrides);
  Program program(runs.arguments("train", "killed", overrides), runs.path());
  REQUIRE(wait_for_step(program, runs, 2));
  program.signal(SIGKILL);
  REQUIRE(program.wait().exit_code == -SIGKILL);

  const auto done = runs.must_train("killed", overrides);

  CHECK_THAT(done.out, !Catch::Contains("resuming"));
  check_equal_runs(runs, 6);
}

TEST_CASE("resume: stopped by SIGTERM and SIGINT after the step in hand, with a checkpoint") {
  const TinyRuns runs;
  const TinyRuns::Overrides overrides{"train.steps=24", "checkpoint.every=10"};
  runs.must_train("straight", overrides);
  std::int64_t step = 11;
  for (const auto& [number, name] : {std::pair{SIGTERM, "SIGTERM"}, std::pair{SIGINT, "SIGINT"}}) {
    Program program(runs.arguments("train", "killed", overrides), runs.path());
    REQUIRE(wait_for_step(program, runs, step));
    program.signal(number);

    const auto done = program.wait();

    INFO(done.out << done.err);
    CHECK(done.exit_code == 0);
    const auto last = num_lines(runs.path() / "killed" / "metrics.jsonl");
    REQUIRE(last < 24);
    CHECK_THAT(done.out, Catch::Contains(fmt::format(
                             "{} received: saving after step {} and leaving", name, last)));
    CHECK(std::filesystem::exists(runs.checkpoint("killed", last) / "manifest.json"));
    step = last + 3;
  }
  const auto done = runs.must_train("killed", overrides);

  check_equal_runs(runs, 24);
  CHECK_THAT(done.out, Catch::Contains("finished; the last checkpoint is in"));
}

TEST_CASE("resume: stopped before its first step, a run leaves nothing to go on from") {
  const TinyRuns runs;
  const TinyRuns::Overrides overrides{"train.steps=2"};
  Program program(runs.arguments("train", "killed", overrides), runs.path());
  while (program.is_running() && program.out().empty()) sleep_ms(2);
  program.signal(SIGTERM);

  const auto done = program.wait();

  INFO(done.out << done.err);
  CHECK(done.exit_code == 0);
  CHECK_THAT(done.out, Catch::Contains("SIGTERM received before the first step: leaving"));
  CHECK_FALSE(std::filesystem::exists(runs.path() / "killed" / "checkpoints" / "latest"));
  CHECK_THAT(runs.must_train("killed", overrides).out, !Catch::Contains("resuming"));
}

TEST_CASE("resume: a second signal ends the process at once") {
  const TinyRuns runs(Size::kRecipe);
  Program program(runs.arguments("train", "killed", {"train.steps=40", "checkpoint.every=1"}),
                  runs.path());
  REQUIRE(wait_for_step(program, runs, 1));
  program.signal(SIGTERM);
  program.signal(SIGINT);

  const auto done = program.wait();

  CHECK((done.exit_code == 128 + SIGTERM || done.exit_code == 128 + SIGINT));
  CHECK_THAT(done.out, !Catch::Contains("and leaving"));
}

TEST_CASE("resume: one process a run folder") {
  const TinyRuns runs;
  const TinyRuns::Overrides overrides{"train.steps=1000", "checkpoint.every=1"};
  Program first(runs.arguments("train", "killed", overrides), runs.path());
  REQUIRE(wait_for_step(first, runs, 1));

  const auto second = runs.train("killed", overrides);

  CHECK(second.exit_code == 2);
  CHECK_THAT(second.err, Catch::Contains("another process is training in killed. Fix: "));
  CHECK(first.is_running());
}
