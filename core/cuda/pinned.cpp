// pinned.h in a build with CUDA.
#include "core/cuda/pinned.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <cuda_runtime.h>

#include "core/base/errors.h"
#include "core/base/format.h"

namespace wam {

at::Tensor host_buffer_for(const at::Tensor& like) {
  const auto options = at::TensorOptions().dtype(like.scalar_type());
  if (like.device().is_cpu() || like.numel() == 0) return at::empty(like.sizes(), options);
  void* memory = nullptr;
  const cudaError_t result = cudaHostAlloc(&memory, like.nbytes(), cudaHostAllocDefault);
  if (result != cudaSuccess) {
    cudaGetLastError();
    throw DeviceError(
        fmt::format("allocating {} of page-locked host memory for a checkpoint: {}. "
                    "Fix: give the process more host memory.",
                    human_bytes(static_cast<double>(like.nbytes())), cudaGetErrorString(result)));
  }
  return at::from_blob(
      memory, like.sizes(), [](void* held) { cudaFreeHost(held); }, options);
}

}  // namespace wam
