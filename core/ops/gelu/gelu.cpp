#include "core/ops/gelu/gelu.h"

#include <ATen/ops/gelu.h>
#include <ATen/ops/gelu_backward.h>

namespace wam {

at::Tensor tanh_gelu_forward(const at::Tensor& x) {
  return at::gelu(x, "tanh");
}

at::Tensor tanh_gelu_backward(const at::Tensor& dy, const at::Tensor& x) {
  return at::gelu_backward(dy, x, "tanh");
}

}  // namespace wam
