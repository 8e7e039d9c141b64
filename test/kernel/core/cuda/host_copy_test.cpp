#include "core/cuda/host_copy.h"

#include <chrono>
#include <functional>

#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "test/kernel/core/ops/kernel_check.h"
#include "test/support/catch.h"

namespace wam {
namespace {

constexpr std::int64_t kNumel = std::int64_t{1} << 28;  // 1 GiB, about 20 ms

double milliseconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

}  // namespace

TEST_CASE("HostCopy: values are those of the moment, and neither host nor other work waits") {
  if (test::skipped_without_gpu()) return;
  const auto options = at::TensorOptions(at::kCUDA).dtype(at::kFloat);
  const at::Tensor state = at::full({kNumel}, 3.0, options);
  const at::Tensor work = at::zeros({1 << 26}, options);
  // Set aside, and where the device is thought to have no room.
  const double free_share = GENERATE(0.1, 1.0);
  HostCopy copy({state, state.narrow(0, 0, 7)}, free_share);
  const auto stream = c10::cuda::getStreamFromPool();
  c10::cuda::device_synchronize();
  const c10::cuda::CUDAStreamGuard guard(stream);
  for (int round = 0; round < 3; ++round) {
    const double value = 5.0 + round;
    for (int i = 0; i < 100; ++i) work.add_(1);  // the copy is ordered after these
    state.fill_(value);

    const double taking = milliseconds_of([&] { copy.take(); });
    const double telling = milliseconds_of([&] { copy.before_overwrite(); });
    state.fill_(-1);
    copy.wait();

    CHECK(copy.sets_aside() == (free_share < 1));
    CHECK(taking < 10);
    CHECK(telling < 5);
    CHECK(at::equal(copy.host()[0], at::full({kNumel}, value, at::kFloat)));
    CHECK(at::equal(copy.host()[1], at::full({7}, value, at::kFloat)));
  }
}

TEST_CASE("HostCopy: what does not overwrite the tensors runs beside the copy") {
  if (test::skipped_without_gpu()) return;
  const at::Tensor state =
      at::full({4 * kNumel}, 3.0, at::TensorOptions(at::kCUDA).dtype(at::kFloat));
  const at::Tensor other = at::zeros({1 << 20}, state.options());
  HostCopy copy({state}, GENERATE(0.1, 1.0));
  c10::cuda::device_synchronize();

  copy.take();  // about 80 ms
  other.add_(1);
  const double other_ms = milliseconds_of([] { c10::cuda::getCurrentCUDAStream().synchronize(); });
  const double rest_ms = milliseconds_of([&] { copy.wait(); });

  CHECK(other_ms < rest_ms);
}

TEST_CASE("HostCopy: what is set aside holds nothing up that overwrites the tensors") {
  if (test::skipped_without_gpu()) return;
  const at::Tensor state =
      at::full({4 * kNumel}, 3.0, at::TensorOptions(at::kCUDA).dtype(at::kFloat));
  HostCopy copy({state});
  c10::cuda::device_synchronize();

  copy.take();  // about 4 ms, and 80 to the host
  copy.before_overwrite();
  state.fill_(4.0);
  const double fill_ms = milliseconds_of([] { c10::cuda::getCurrentCUDAStream().synchronize(); });
  const double rest_ms = milliseconds_of([&] { copy.wait(); });

  CHECK(fill_ms < rest_ms);
  CHECK(copy.host()[0].min().item<float>() == 3.0F);
}

}  // namespace wam
