#include "core/train/schedule.h"

#include <cmath>
#include <numbers>

#include "core/train/recipe.h"
#include "test/support/catch.h"

using wam::Schedule;
using wam::ScheduleKind;

namespace {

// Rounding of a few operations on numbers near 1.
constexpr double kTolerance = 1e-15;

double cosine(double share_done) {
  return 0.5 * (1 + std::cos(std::numbers::pi * share_done));
}

}  // namespace

TEST_CASE("schedule: warm-up is linear and starts at rate 0") {
  const Schedule schedule{
      .kind = ScheduleKind::kConstant, .peak = 2, .warmup_steps = 4, .total_steps = 10};

  CHECK(schedule.rate(0) == 0);
  CHECK(schedule.rate(1) == 0.5);
  CHECK(schedule.rate(3) == 1.5);
  CHECK(schedule.rate(4) == 2);
  CHECK(schedule.rate(9) == 2);
  CHECK(schedule.rate(10'000) == 2);
}

TEST_CASE("schedule: half a cosine from the peak down to 0 at the last step") {
  const Schedule schedule{
      .kind = ScheduleKind::kCosine, .peak = 1, .warmup_steps = 2, .total_steps = 10};

  CHECK(schedule.rate(2) == 1);
  CHECK(std::abs(schedule.rate(3) - cosine(1.0 / 8)) < kTolerance);
  CHECK(std::abs(schedule.rate(6) - 0.5) < kTolerance);
  CHECK(std::abs(schedule.rate(9) - cosine(7.0 / 8)) < kTolerance);
  CHECK(schedule.rate(9) > 0);
  CHECK(schedule.rate(10) < kTolerance);
}

TEST_CASE("schedule: without warm-up the first step has the peak rate") {
  for (const auto kind : {ScheduleKind::kCosine, ScheduleKind::kConstant}) {
    CHECK(Schedule{.kind = kind, .peak = 3, .warmup_steps = 0, .total_steps = 5}.rate(0) == 3);
  }
}

TEST_CASE("schedule: all steps of a run may be warm-up") {
  const Schedule schedule{
      .kind = ScheduleKind::kCosine, .peak = 1, .warmup_steps = 3, .total_steps = 3};

  CHECK(schedule.rate(2) == 2.0 / 3);
  CHECK(std::isfinite(schedule.rate(3)));
}

TEST_CASE("schedule: a warm-up below 1 is a share of the steps, rounded up") {
  wam::TrainSection section;
  section.steps = 41;
  section.warmup = 0.05;
  section.learning_rate = 7;
  wam::Problems problems("r.yaml");

  const auto schedule = resolve(section, problems).make_schedule();

  CHECK(schedule.warmup_steps == 3);  // ceil(2.05)
  CHECK(schedule.total_steps == 41);
  CHECK(schedule.rate(3) == 7);
}
