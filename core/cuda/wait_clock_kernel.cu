#include "core/cuda/wait_clock_kernel.h"

namespace wam {
namespace {

__device__ std::int64_t device_clock_ns() {
  std::int64_t now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  return now;
}

__global__ void begin_wait(std::int64_t* begun) {
  *begun = device_clock_ns();
}

__global__ void end_wait(const std::int64_t* begun, double* sum) {
  *sum += 1e-9 * static_cast<double>(device_clock_ns() - *begun);
}

}  // namespace

void launch_begin_wait(std::int64_t* begun, KernelStream stream) {
  begin_wait<<<1, 1, 0, stream>>>(begun);
  check_launch("begin_wait");
}

void launch_end_wait(const std::int64_t* begun, double* sum, KernelStream stream) {
  end_wait<<<1, 1, 0, stream>>>(begun, sum);
  check_launch("end_wait");
}

}  // namespace wam
