#include "apps/wamtrain/bench/ceilings.h"

#include "test/kernel/core/ops/kernel_check.h"
#include "test/support/catch.h"

TEST_CASE("ceilings: a GPU does its matrix products at hundreds of TFLOP/s, copies at TB/s") {
  if (wam::test::skipped_without_gpu()) return;

  const auto found = wam::measure_ceilings({c10::kCUDA, 0}, 1.0);

  CHECK(found.matmul_tflops > 300);
  CHECK(found.matmul_tflops < 1000);
  CHECK(found.copy_tb_s > 1.5);
  CHECK(found.copy_tb_s < 5);
}
