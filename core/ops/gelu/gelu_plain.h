#pragma once

#include <ATen/core/Tensor.h>

namespace wam {

// The plain form of gelu.h; bias_gradient may be undefined.
at::Tensor tanh_gelu_forward_plain(const at::Tensor& x);
at::Tensor tanh_gelu_backward_plain(const at::Tensor& dy,
                                    const at::Tensor& x,
                                    const at::Tensor& bias_gradient_E);

}  // namespace wam
