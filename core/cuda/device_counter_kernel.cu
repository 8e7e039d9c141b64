#include "core/cuda/device_counter_kernel.h"

namespace wam {
namespace {

__global__ void count(volatile std::uint64_t* counter) {
  *counter = *counter + 1;
  __threadfence_system();
}

}  // namespace

void launch_count(std::uint64_t* counter, KernelStream stream) {
  count<<<1, 1, 0, stream>>>(counter);
  check_launch("counting a collective");
}

}  // namespace wam
