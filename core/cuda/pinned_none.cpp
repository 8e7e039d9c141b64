// pinned.h in a build without CUDA.
#include <ATen/ops/zeros.h>

#include "core/cuda/pinned.h"

namespace wam {

at::Tensor host_buffer(at::IntArrayRef sizes, at::ScalarType type, at::Device /*device*/) {
  return at::zeros(sizes, at::TensorOptions().dtype(type));
}

}  // namespace wam
