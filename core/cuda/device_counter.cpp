#include "core/cuda/device_counter.h"

#include <atomic>

#include <cuda_runtime_api.h>

#include "core/base/errors.h"
#include "core/cuda/device_counter_kernel.h"
#include "core/cuda/tensor_kernel.h"

namespace wam {

struct DeviceCounter::Impl {
  std::uint64_t* host = nullptr;
  std::uint64_t* device = nullptr;
};

DeviceCounter::DeviceCounter(c10::Device device) : impl_(std::make_unique<Impl>()) {
  invariant(device.is_cuda(), "a counter of the device's progress on the CPU");
  void* memory = nullptr;
  void* mapped = nullptr;
  const bool there = cudaHostAlloc(&memory, sizeof(std::uint64_t),
                                   cudaHostAllocMapped | cudaHostAllocPortable) == cudaSuccess &&
                     cudaHostGetDevicePointer(&mapped, memory, 0) == cudaSuccess;
  require<DeviceError>(there, "allocating the counter of collectives in host memory: {}.",
                       cudaGetErrorString(cudaGetLastError()));
  impl_->host = static_cast<std::uint64_t*>(memory);
  impl_->device = static_cast<std::uint64_t*>(mapped);
  *impl_->host = 0;
}

DeviceCounter::~DeviceCounter() {
  cudaFreeHost(impl_->host);
}

void DeviceCounter::count() {
  launch_count(impl_->device, current_stream());
}

std::uint64_t DeviceCounter::value() const {
  return std::atomic_ref(*impl_->host).load(std::memory_order_relaxed);
}

}  // namespace wam
