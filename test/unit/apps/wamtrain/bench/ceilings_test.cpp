#include "apps/wamtrain/bench/ceilings.h"

#include "apps/wamtrain/bench/timing.h"
#include "test/support/catch.h"

using wam::Ceilings;

TEST_CASE("ceilings: the device's own rates are measured") {
  const Ceilings found = wam::measure_ceilings(c10::kCPU, 0.02);

  CHECK(found.matmul_tflops > 1e-4);
  CHECK(found.matmul_tflops < 100);
  CHECK(found.copy_tb_s > 1e-4);
  CHECK(found.copy_tb_s < 100);
}

TEST_CASE("ceilings: a share is of a ceiling that was measured") {
  const Ceilings ceilings{.matmul_tflops = 700, .copy_tb_s = 4};

  CHECK(wam::share_of(350, ceilings, &Ceilings::matmul_tflops) == 0.5);
  CHECK(wam::share_of(3, ceilings, &Ceilings::copy_tb_s) == 0.75);
  CHECK_FALSE(wam::share_of(350, std::nullopt, &Ceilings::matmul_tflops));
}

TEST_CASE("timing: calls warm up, and the middle one counts") {
  int calls = 0;
  const auto times = wam::time_calls(c10::kCPU, 4, [&] { ++calls; });

  CHECK(calls == 7);
  CHECK(times.best_s <= times.median_s);
  CHECK(times.host_s <= times.median_s);
  CHECK(wam::median({9, 1, 5}) == 5);
  CHECK(wam::median({1, 2}) == 2);
}
