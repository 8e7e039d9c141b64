#include "apps/wamtrain/bench/ceilings.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mm.h>

#include "apps/wamtrain/bench/synthetic.h"
#include "core/cuda/device.h"

namespace wam {
namespace {

struct Sizes {
  std::int64_t m, n, k;
  std::int64_t copied_bytes;
  int calls;  // between two looks at the clock
};

Sizes sizes_for(c10::Device device) {
  if (device.is_cpu()) return {.m = 128, .n = 256, .k = 128, .copied_bytes = 1 << 24, .calls = 1};
  return {.m = 8000, .n = 14336, .k = 3072, .copied_bytes = std::int64_t{1} << 31, .calls = 50};
}

// Calls a second, over at least `seconds`.
double call_rate(c10::Device device, int calls, double seconds, const std::function<void()>& call) {
  using Clock = std::chrono::steady_clock;
  for (int i = 0; i < 3; ++i) call();
  synchronize_device(device);
  const auto start = Clock::now();
  double passed = 0;
  std::int64_t done = 0;
  do {
    for (int i = 0; i < calls; ++i) call();
    synchronize_device(device);
    done += calls;
    passed = std::chrono::duration<double>(Clock::now() - start).count();
  } while (passed < seconds);
  return static_cast<double>(done) / passed;
}

double matmul_tflops(c10::Device device, double seconds) {
  const Sizes s = sizes_for(device);
  const at::Tensor x_MK = random_values({s.m, s.k}, device, at::kBFloat16, 1.0);
  const at::Tensor w_NK = random_values({s.n, s.k}, device, at::kBFloat16, 0.02);
  at::Tensor y_MN = at::empty({s.m, s.n}, x_MK.options());
  const double rate =
      call_rate(device, s.calls, seconds, [&] { at::mm_out(y_MN, x_MK, w_NK.t()); });
  return rate * 2e-12 * static_cast<double>(s.m) * static_cast<double>(s.n) *
         static_cast<double>(s.k);
}

double copy_tb_s(c10::Device device, double seconds) {
  const Sizes s = sizes_for(device);
  const at::Tensor from = random_values({s.copied_bytes / 4}, device, at::kFloat, 1.0);
  const at::Tensor to = at::empty_like(from);
  const double rate = call_rate(device, s.calls, seconds, [&] { to.copy_(from); });
  return rate * 2e-12 * static_cast<double>(s.copied_bytes);
}

}  // namespace

Ceilings measure_ceilings(c10::Device device, double seconds) {
  Ceilings out;
  out.matmul_tflops = matmul_tflops(device, seconds);
  out.copy_tb_s = copy_tb_s(device, std::min(1.0, 0.1 * seconds));
  return out;
}

}  // namespace wam
