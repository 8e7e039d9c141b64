// pinned.h in a build without CUDA.
#include <ATen/ops/empty.h>

#include "core/cuda/pinned.h"

namespace wam {

at::Tensor host_buffer_for(const at::Tensor& like) {
  return at::empty(like.sizes(), at::TensorOptions().dtype(like.scalar_type()));
}

}  // namespace wam
