// What the loop does about checkpoints that are still being written.
#include <chrono>
#include <csignal>
#include <thread>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "core/train/loop.h"
#include "test/support/catch.h"
#include "test/support/temp_folder.h"
#include "test/unit/core/train/fake_training.h"

using wam::test::FakeRun;
using wam::test::TempFolder;

namespace {

// Six steps with a save at each, while the first takes until the fourth step is done.
void set_up_slow_save(FakeRun& run) {
  run.options.checkpoint_every = 1;
  run.saving = [&run] { return run.lines().size() < 4 && !run.saved.empty(); };
}

}  // namespace

TEST_CASE("loop: a save that falls due while the last is written is made, or skipped and said") {
  const TempFolder folder;
  FakeRun run(folder.path(), 4, 4);
  set_up_slow_save(run);
  SECTION("wait: save() is called, which waits") {
    run.run();
    CHECK(run.saved == std::vector<std::int64_t>{1, 2, 3, 4, 5, 6});
  }
  SECTION("skip") {
    run.options.skips_when_busy = true;
    run.run();
    CHECK(run.saved == std::vector<std::int64_t>{1, 4, 5, 6});
    for (const int step : {2, 3}) {
      CHECK_THAT(run.log_text(),
                 Catch::Contains(fmt::format("step {}: the last checkpoint is still being written, "
                                             "this one is skipped (checkpoint.when_busy: skip)",
                                             step)));
    }
  }
}

TEST_CASE("loop: the last save is never skipped") {
  const TempFolder folder;
  FakeRun run(folder.path(), 4, 4);
  run.options.skips_when_busy = true;
  run.saving = [] { return true; };
  SECTION("due at the last step") {
    run.options.checkpoint_every = 2;
    run.options.checkpoint_at_end = false;
    run.run();
  }
  SECTION("made at the end") {
    run.options.checkpoint_every = 4;
    run.run();
  }
  CHECK(run.saved == std::vector<std::int64_t>{6});
}

TEST_CASE("loop: a stop request saves though a save was skipped at the same step") {
  const TempFolder folder;
  FakeRun run(folder.path(), 4, 4);
  run.options.checkpoint_every = 1;
  run.options.skips_when_busy = true;
  run.saving = [] { return true; };
  run.model.on_sample = [](std::uint64_t ordinal) {
    if (ordinal == 9) std::raise(SIGTERM);  // in the third step
  };

  CHECK(run.run() == wam::LoopEnd::kStopped);

  CHECK(run.saved == std::vector<std::int64_t>{3});
}

TEST_CASE("loop: before every update it asks a checkpoint to let go, and shows the wait") {
  const TempFolder folder;
  FakeRun run(folder.path(), 4, 4);
  std::vector<std::string> states;  // at each update
  run.before_update = [&] {
    states.push_back(run.state());
    if (states.size() == 3) std::this_thread::sleep_for(std::chrono::milliseconds(200));
  };

  run.run();

  REQUIRE(states.size() == 6);
  for (std::size_t i = 1; i < 6; ++i) CHECK((states[i] != states[i - 1]));
  CHECK((states.back() != run.state()));  // it was asked before the last update
  const auto third = nlohmann::json::parse(run.lines()[2]);
  CHECK(third["checkpoint_s"].get<double>() >= 0.2);
  CHECK(third["step_s"].get<double>() >= 0.2);
  const auto rate = third["samples_per_s"].get<double>();
  CHECK(rate > 4 / 0.2);  // of training
}
