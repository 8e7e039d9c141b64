// device.h in a build with CUDA.
#include "core/cuda/device.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>

#include <ATen/Context.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda_runtime.h>

#include "core/base/errors.h"
#include "core/base/format.h"
#include "core/cuda/device_cpu.h"

namespace wam {
namespace {

void check(cudaError_t result, const char* doing) {
  if (result == cudaSuccess) return;
  cudaGetLastError();
  throw DeviceError(
      fmt::format("{}: {} ({}).", doing, cudaGetErrorString(result), cudaGetErrorName(result)));
}

}  // namespace

bool gpu_available() {
  int count = 0;
  const bool ok = cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
  cudaGetLastError();
  return ok;
}

std::vector<std::string> gpu_bus_ids() {
  int count = 0;
  check(cudaGetDeviceCount(&count), "looking for GPUs");
  std::vector<std::string> ids;
  for (int index = 0; index < count; ++index) {
    std::array<char, 32> text{};
    check(cudaDeviceGetPCIBusId(text.data(), text.size(), index), "asking where a GPU sits");
    std::string id = text.data();
    std::transform(id.begin(), id.end(), id.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    ids.push_back(id);
  }
  return ids;
}

void prepare_device(const DeviceOptions& options) {
  prepare_cpu(options);
  if (options.device.is_cpu()) return;
  int count = 0;
  check(cudaGetDeviceCount(&count), "looking for GPUs");
  require<DeviceError>(options.device.index() < count,
                       "preparing {}: this machine has {} GPUs. Fix: start one process a GPU.",
                       options.device.str(), count);
  c10::cuda::set_device(options.device.index());
  // cuBLAS repeats its sums only with a workspace of fixed size.
  setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);
  auto& context = at::globalContext();
  context.lazyInitDevice(c10::kCUDA);
  context.setBenchmarkCuDNN(false);
  context.setDeterministicCuDNN(options.deterministic);
  context.setAllowTF32CuBLAS(false);
  // Products of bf16 round once: partial sums of a split reduction stay in fp32.
  context.setAllowBF16ReductionCuBLAS(false);
  context.setAllowTF32CuDNN(false);
}

std::string describe_device(c10::Device device) {
  if (device.is_cpu()) return describe_cpu();
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device.index()), "describing the GPU");
  return fmt::format("{}, {}", properties.name,
                     human_bytes(static_cast<double>(properties.totalGlobalMem)));
}

std::int64_t peak_memory_bytes(c10::Device device) {
  if (device.is_cpu()) return process_peak_bytes();
  const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(device.index());
  return stats.allocated_bytes[0].peak;
}

void reset_peak_memory(c10::Device device) {
  if (!device.is_cpu()) c10::cuda::CUDACachingAllocator::resetPeakStats(device.index());
}

DeviceMemory device_memory(c10::Device device) {
  if (device.is_cpu()) return host_memory();
  const c10::cuda::CUDAGuard guard(device);
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  check(cudaMemGetInfo(&free_bytes, &total_bytes), "asking for the GPU's free memory");
  return {static_cast<std::int64_t>(total_bytes), static_cast<std::int64_t>(free_bytes)};
}

void synchronize_device(c10::Device device) {
  if (!device.is_cpu()) c10::cuda::device_synchronize();
}

std::string cuda_version() {
  int version = 0;
  check(cudaRuntimeGetVersion(&version), "asking for the CUDA version");
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

}  // namespace wam
