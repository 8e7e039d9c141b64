#pragma once

#include <initializer_list>

#include <ATen/core/Tensor.h>

#include "core/ops/parameter.h"

namespace wam {

struct Linear {
  Parameter weight;  // (out, in)
  Parameter bias;    // (out), or (parts, out / parts) where `joined` found padding between parts
};

// y = x W^T + b. Products of bf16 accumulate in fp32 and round once.
// Shape: x (..., in), any strides; y (..., out).
at::Tensor linear_forward(const at::Tensor& x, const Linear& linear);

// Returns dx = dy W, and adds dW += dy^T x, db += sum(dy) to the gradients that are defined.
// The gradients are in the state type: nothing rounds to the type of x on the way.
at::Tensor linear_backward(const at::Tensor& dy, const at::Tensor& x, const Linear& linear);

// The two halves of linear_backward.
at::Tensor linear_backward_input(const at::Tensor& dy, const Linear& linear);
void linear_backward_parameters(const at::Tensor& dy, const at::Tensor& x, const Linear& linear);

// dx += dy W, added before the one rounding. dx (..., in) or a range of the tokens of (B, L, in).
void add_linear_backward_input(const at::Tensor& dy, const Linear& linear, const at::Tensor& dx);

// The same map, whose backward leaves the bias to somebody else (tanh_gelu_backward).
Linear without_bias_gradient(Linear linear);

// Maps of one input as one map, whose outputs stand side by side: views, nothing is copied. The
// parts have equal shapes; their weights follow each other in memory, and so do their biases and
// both gradients. Gaps of equal size between biases (the padding of a unit) are allowed.
// Errors: InvariantError when the parts do not lie so.
Linear joined(std::initializer_list<Linear> parts);

}  // namespace wam
