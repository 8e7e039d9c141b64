#include "core/cuda/kernel.h"

#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include <fmt/ranges.h>

#include "core/base/errors.h"
#include "core/cuda/tensor_kernel.h"

namespace wam {

void check_launch(const char* kernel) {
  const cudaError_t error = cudaGetLastError();
  require<DeviceError>(error == cudaSuccess, "launching kernel {}: {} ({}).", kernel,
                       cudaGetErrorString(error), cudaGetErrorName(error));
}

KernelStream current_stream() {
  return c10::cuda::getCurrentCUDAStream().stream();
}

void check_vector_rows(const at::Tensor& x, const char* name) {
  bool ok = x.dim() > 0 && x.stride(-1) == 1 && x.size(-1) % kVectorElements == 0 &&
            reinterpret_cast<std::uintptr_t>(x.const_data_ptr()) % 16 == 0;
  for (std::int64_t d = 0; ok && d + 1 < x.dim(); ++d) {
    ok = x.size(d) == 1 || x.stride(d) % kVectorElements == 0;
  }
  require<InvariantError>(ok,
                          "kernel argument {} of shape {} and strides {}: expected a contiguous "
                          "last dimension and rows that start at multiples of {} elements",
                          name, fmt::join(x.sizes(), "x"), fmt::join(x.strides(), ","),
                          kVectorElements);
}

}  // namespace wam
