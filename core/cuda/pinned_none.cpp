// pinned.h in a build without CUDA.
#include <ATen/ops/empty.h>

#include "core/cuda/pinned.h"

namespace wam {

at::Tensor host_buffer(at::IntArrayRef sizes, at::ScalarType type, at::Device /*device*/) {
  return at::empty(sizes, at::TensorOptions().dtype(type));
}

}  // namespace wam
