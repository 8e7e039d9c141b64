#include <ATen/ops/equal.h>

#include "models/wam/flow_matching.h"
#include "test/support/catch.h"
#include "test/support/golden.h"

namespace wam::test {

TEST_CASE("The noise schedule equals the reference") {
  for (const auto& path : golden_files("scheduler")) {
    const GoldenFile file(path);
    const FlowSchedule schedule = flow_schedule(at::kCPU);
    INFO(file.name());
    CHECK(at::equal(schedule.sigma, file.stored("sched.sigmas")));
    CHECK(at::equal(schedule.timestep, file.stored("sched.timesteps")));
    CHECK(file.error_of(schedule.weight, "sched.weights") < 5e-7);
    CHECK(file.error_of(schedule.weight, "sched64.weights") < 5e-7);
    CHECK(file.error_of(schedule.sigma, "sched64.sigmas") < 4e-7);
  }
}

}  // namespace wam::test
