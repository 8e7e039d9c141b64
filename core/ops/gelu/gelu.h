#pragma once

#include <ATen/core/Tensor.h>

namespace wam {

// y = 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), each element in the accumulate type.
// Source: Hendrycks & Gimpel 2016, arXiv:1606.08415, section 2.
at::Tensor tanh_gelu_forward(const at::Tensor& x);
at::Tensor tanh_gelu_backward(const at::Tensor& dy, const at::Tensor& x);

}  // namespace wam
