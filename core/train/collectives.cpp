#include "core/train/collectives.h"

#include <ATen/ops/zeros.h>

namespace wam {

at::Tensor Collectives::allocate(std::int64_t numel, at::ScalarType type, at::Device device) {
  return at::zeros({numel}, at::TensorOptions(device).dtype(type));
}

}  // namespace wam
