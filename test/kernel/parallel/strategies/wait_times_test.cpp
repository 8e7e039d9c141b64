#include "parallel/strategies/wait_times.h"

#include <array>
#include <functional>

#include <ATen/ops/full.h>

#include "core/cuda/device.h"
#include "core/cuda/graph.h"
#include "core/train/step_clock.h"
#include "test/kernel/core/ops/kernel_check.h"
#include "test/support/catch.h"

namespace wam {
namespace {

const at::Device kDevice(at::kCUDA, 0);

// Milliseconds of work that allocates nothing.
struct Sums {
  at::Tensor term = at::full({64 << 20}, 1e-3, at::TensorOptions(kDevice).dtype(at::kFloat));
  at::Tensor sum = term.clone();

  void run(int count) {
    for (int i = 0; i < 10 * count; ++i) sum.add_(term);
  }
};

// A lane at work, and the current stream that waits for it.
struct Waiting {
  Lane lane{kDevice};
  Mark done;
  WaitTimes waits{kDevice};
  Sums in_lane, beside;

  void run(int sums_in_lane, int sums_beside) {
    lane.after_current();
    {
      const Lane::Scope scope(lane);
      in_lane.run(sums_in_lane);
      done.set(kDevice);
    }
    beside.run(sums_beside);
    waits.wait(done, WaitCause::kReduce);
  }
};

double seconds_of(const std::function<void()>& work) {
  StepClock clock(kDevice);
  clock.enter(Activity::kForwardBackward);
  work();
  const StepSpan span = clock.end_step();
  synchronize_device(kDevice);
  const std::array<double, kNumWaitCauses> none{};
  return span.times(none.data()).forward_backward_s;
}

double waited(WaitTimes& waits, WaitCause cause) {
  return waits.take()[static_cast<std::int64_t>(cause)].item<double>();
}

}  // namespace

TEST_CASE("Wait times: a stream that waits for a lane is timed, launched or replayed") {
  if (test::skipped_without_gpu()) return;
  Waiting w;
  w.run(1, 1);
  static_cast<void>(w.waits.take());
  const double whole = seconds_of([&] { w.run(10, 0); });
  const double launched = waited(w.waits, WaitCause::kReduce);
  CHECK(launched == Approx(whole).epsilon(0.1));

  GraphPool pool(kDevice);
  DeviceGraph graph(pool, "a wait", [&] { w.run(10, 0); });
  static_cast<void>(w.waits.take());
  const double replays = seconds_of([&] {
    graph.replay();
    graph.replay();
  });
  CHECK(waited(w.waits, WaitCause::kReduce) == Approx(replays).epsilon(0.1));
  CHECK(waited(w.waits, WaitCause::kReduce) == 0);  // taken
}

TEST_CASE("Wait times: a lane that is done already costs microseconds") {
  if (test::skipped_without_gpu()) return;
  Waiting w;
  w.run(1, 1);
  static_cast<void>(w.waits.take());
  w.run(0, 10);
  CHECK(waited(w.waits, WaitCause::kReduce) < 100e-6);
}

TEST_CASE("Step clock: on a GPU parts have the device's time, not the host's") {
  if (test::skipped_without_gpu()) return;
  Sums sums;
  sums.run(3);
  const double one = seconds_of([&] { sums.run(20); });
  synchronize_device(kDevice);
  StepClock clock(kDevice);
  clock.enter(Activity::kForwardBackward);
  sums.run(20);
  clock.enter(Activity::kDataWait);  // the host is here long before the device
  clock.enter(Activity::kUpdate);
  sums.run(10);
  const StepSpan span = clock.end_step();
  synchronize_device(kDevice);

  const std::array<double, kNumWaitCauses> none{};
  const StepTimes times = span.times(none.data());

  CHECK(times.forward_backward_s == Approx(one).epsilon(0.1));
  CHECK(times.update_s == Approx(one / 2).epsilon(0.1));
  CHECK(times.data_wait_s < 100e-6);
  CHECK(times.forward_backward_s + times.update_s + times.data_wait_s + times.other_s ==
        Approx(times.step_s).epsilon(1e-3));
}

}  // namespace wam
