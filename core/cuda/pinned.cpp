// pinned.h in a build with CUDA.
#include "core/cuda/pinned.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <c10/util/accumulate.h>
#include <cuda_runtime.h>

#include "core/base/errors.h"
#include "core/base/format.h"

namespace wam {

at::Tensor host_buffer(at::IntArrayRef sizes, at::ScalarType type, at::Device device) {
  const auto options = at::TensorOptions().dtype(type);
  const std::size_t bytes =
      static_cast<std::size_t>(c10::multiply_integers(sizes)) * c10::elementSize(type);
  if (device.is_cpu() || bytes == 0) return at::empty(sizes, options);
  void* memory = nullptr;
  const cudaError_t result = cudaHostAlloc(&memory, bytes, cudaHostAllocDefault);
  if (result != cudaSuccess) {
    cudaGetLastError();
    throw DeviceError(fmt::format(
        "allocating {} of page-locked host memory: {}. Fix: give the process more host memory.",
        human_bytes(static_cast<double>(bytes)), cudaGetErrorString(result)));
  }
  return at::from_blob(
      memory, sizes, [](void* held) { cudaFreeHost(held); }, options);
}

}  // namespace wam
