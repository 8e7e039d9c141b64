#include "core/train/step_clock.h"

#include <array>

#include <nlohmann/json.hpp>

#include "test/support/catch.h"
#include "test/support/temp_folder.h"
#include "test/unit/core/train/fake_training.h"

namespace wam {
namespace {

using Waits = std::array<double, kNumWaitCauses>;

double sum_of_parts(const StepTimes& t) {
  return t.forward_backward_s + t.encode_s + t.update_s + t.exposed_gather_s + t.exposed_reduce_s +
         t.data_wait_s + t.checkpoint_s + t.other_s;
}

// A clock that stands still until it is told.
struct FakeClock {
  double now = 1000;
  StepClock clock{at::kCPU, [this] { return now; }};

  void spend(Activity part, double seconds) {
    clock.enter(part);
    now += seconds;
  }
};

}  // namespace

TEST_CASE("step clock: every part has its time, over all micro-steps, and they add up") {
  FakeClock fake;
  fake.now += 50;  // before the first step
  fake.clock.start();
  for (int micro = 0; micro < 2; ++micro) {
    fake.spend(Activity::kDataWait, 0.5);
    fake.spend(Activity::kEncode, 1);
    fake.spend(Activity::kForwardBackward, 8);
  }
  fake.spend(Activity::kCheckpoint, 0.25);
  fake.spend(Activity::kUpdate, 3);
  fake.spend(Activity::kOther, 0.125);
  const StepSpan first = fake.clock.end_step();
  fake.now += 0.0625;  // the start of the next one
  fake.spend(Activity::kPause, 100);
  fake.spend(Activity::kForwardBackward, 2);
  const StepSpan second = fake.clock.end_step();

  const StepTimes one = first.times(Waits{}.data());
  CHECK(one.data_wait_s == 1);
  CHECK(one.encode_s == 2);
  CHECK(one.forward_backward_s == 16);
  CHECK(one.checkpoint_s == 0.25);
  CHECK(one.update_s == 3);
  CHECK(one.other_s == 0.125);
  CHECK(one.step_s == 22.375);
  CHECK(sum_of_parts(one) == one.step_s);
  const StepTimes two = second.times(Waits{}.data());
  CHECK(two.step_s == 2.0625);  // without the pause
  CHECK(two.forward_backward_s == 2);
  CHECK(two.other_s == 0.0625);
  CHECK(two.data_wait_s == 0);
  CHECK(sum_of_parts(two) == two.step_s);
}

TEST_CASE("step clock: waits are taken out of the part in which they fell") {
  FakeClock fake;
  fake.clock.start();
  fake.spend(Activity::kForwardBackward, 16);
  fake.spend(Activity::kOther, 1);
  fake.spend(Activity::kUpdate, 8);
  const StepSpan span = fake.clock.end_step();
  Waits waits{};
  waits[static_cast<std::size_t>(WaitCause::kGather)] = 4;
  waits[static_cast<std::size_t>(WaitCause::kReduce)] = 2;
  waits[static_cast<std::size_t>(WaitCause::kShareWeights)] = 1;
  waits[static_cast<std::size_t>(WaitCause::kSumNorms)] = 0.5;
  waits[static_cast<std::size_t>(WaitCause::kSumLosses)] = 0.25;

  const StepTimes times = span.times(waits.data());

  CHECK(times.forward_backward_s == 10);
  CHECK(times.update_s == 6.5);
  CHECK(times.other_s == 0.75);
  CHECK(times.exposed_gather_s == 5);
  CHECK(times.exposed_reduce_s == 2.75);
  CHECK(times.step_s == 25);
  CHECK(sum_of_parts(times) == times.step_s);
}

TEST_CASE("step clock: a loop says what its steps are at") {
  const test::TempFolder folder;
  test::FakeRun run(folder.path(), 4, 2);
  double now = 0;
  run.clock = StepClock(at::kCPU, [&] { return now; });
  run.options.checkpoint_every = 3;
  run.model.on_sample = [&](std::uint64_t) { now += 2; };  // four in a step
  run.before_update = [&] { now += 0.5; };
  run.on_save = [&] { now += 16; };

  run.run();

  const auto lines = run.lines();
  REQUIRE(lines.size() == 6);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto line = nlohmann::json::parse(lines[i]);
    CHECK(line["forward_backward_s"] == 8);
    CHECK(line["checkpoint_s"] == (i == 3 ? 16.5 : 0.5));  // the save after the third
    CHECK(line["step_s"] == (i == 3 ? 24.5 : 8.5));
    CHECK(line["samples_per_s"] == 0.5);  // 4 in 8 s
    CHECK(line["other_s"] == 0);
  }
}

}  // namespace wam
