#pragma once

#include <ATen/core/Tensor.h>

namespace wam {

// gelu.h on the GPU; bias_gradient may be undefined.
at::Tensor tanh_gelu_forward_launch(const at::Tensor& x);
at::Tensor tanh_gelu_backward_launch(const at::Tensor& dy,
                                     const at::Tensor& x,
                                     const at::Tensor& bias_gradient_E);

}  // namespace wam
