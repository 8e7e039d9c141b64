#include "core/ops/gelu/gelu.h"

#include "core/cuda/tensor_kernel.h"
#include "core/ops/gelu/gelu_launch.h"
#include "core/ops/gelu/gelu_plain.h"

namespace wam {

at::Tensor tanh_gelu_forward(const at::Tensor& x) {
  if constexpr (kBuiltForCuda) {
    if (runs_kernel(x)) return tanh_gelu_forward_launch(x);
  }
  return tanh_gelu_forward_plain(x);
}

at::Tensor tanh_gelu_backward(const at::Tensor& dy, const at::Tensor& x) {
  return tanh_gelu_backward(dy, x, {});
}

at::Tensor tanh_gelu_backward(const at::Tensor& dy,
                              const at::Tensor& x,
                              const at::Tensor& bias_gradient_E) {
  if constexpr (kBuiltForCuda) {
    if (runs_kernel(x)) return tanh_gelu_backward_launch(dy, x, bias_gradient_E);
  }
  return tanh_gelu_backward_plain(dy, x, bias_gradient_E);
}

}  // namespace wam
