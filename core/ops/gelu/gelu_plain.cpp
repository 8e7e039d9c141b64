#include "core/ops/gelu/gelu_plain.h"

#include <ATen/ops/gelu.h>
#include <ATen/ops/gelu_backward.h>

#include "core/ops/column_sum/column_sum_plain.h"

namespace wam {

at::Tensor tanh_gelu_forward_plain(const at::Tensor& x) {
  return at::gelu(x, "tanh");
}

at::Tensor tanh_gelu_backward_plain(const at::Tensor& dy,
                                    const at::Tensor& x,
                                    const at::Tensor& bias_gradient_E) {
  at::Tensor dx = at::gelu_backward(dy, x, "tanh");
  if (bias_gradient_E.defined()) {
    add_column_sums_plain(dx.reshape({-1, dx.size(-1)}), bias_gradient_E);
  }
  return dx;
}

}  // namespace wam
