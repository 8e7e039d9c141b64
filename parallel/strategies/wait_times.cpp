#include "parallel/strategies/wait_times.h"

#include <ATen/ops/zeros.h>

#include "core/cuda/tensor_kernel.h"
#include "core/cuda/wait_clock_kernel.h"

namespace wam {

WaitTimes::WaitTimes(c10::Device device)
    : device_(device),
      sums_(at::zeros({static_cast<std::int64_t>(kNumWaitCauses)},
                      at::TensorOptions(device).dtype(at::kDouble))) {
  if (device.is_cuda()) begun_ = at::zeros({1}, at::TensorOptions(device).dtype(at::kLong));
}

void WaitTimes::wait(const Mark& mark, WaitCause cause) {
  if constexpr (kBuiltForCuda) {
    if (device_.is_cuda()) {
      auto* begun = begun_.mutable_data_ptr<std::int64_t>();
      auto* sum = sums_.mutable_data_ptr<double>() + static_cast<std::size_t>(cause);
      launch_begin_wait(begun, current_stream());
      mark.wait(device_);
      launch_end_wait(begun, sum, current_stream());
      return;
    }
  }
  mark.wait(device_);
}

at::Tensor WaitTimes::take() {
  at::Tensor out = sums_.clone();
  sums_.zero_();
  return out;
}

void WaitTimes::add(WaitCause cause, double seconds) {
  sums_.mutable_data_ptr<double>()[static_cast<std::size_t>(cause)] += seconds;
}

}  // namespace wam
