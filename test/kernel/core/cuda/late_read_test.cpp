#include "core/cuda/late_read.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "test/kernel/core/ops/kernel_check.h"
#include "test/support/catch.h"

namespace wam {

TEST_CASE("LateRead: numbers are those of the moment, and reading waits for no later work") {
  if (test::skipped_without_gpu()) return;
  const auto options = at::TensorOptions(at::kCUDA).dtype(at::kDouble);
  const at::Tensor numbers = at::full({1000}, 3.0, options);
  const at::Tensor work = at::zeros({1 << 26}, options.dtype(at::kFloat));
  const auto stream = c10::cuda::getStreamFromPool();
  c10::cuda::device_synchronize();
  const c10::cuda::CUDAStreamGuard guard(stream);

  const LateRead read(numbers);
  for (int i = 0; i < 500; ++i) work.add_(1);  // about 60 ms on an H200
  numbers.fill_(4);
  const at::Tensor host = read.get();
  const bool later_work_was_done = stream.query();

  CHECK(host.is_cpu());
  CHECK(at::equal(host, at::full({1000}, 3.0, at::kDouble)));
  CHECK_FALSE(later_work_was_done);
  const LateRead second(numbers);
  CHECK(at::equal(second.get(), at::full({1000}, 4.0, at::kDouble)));
}

}  // namespace wam
