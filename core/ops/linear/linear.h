#pragma once

#include <ATen/core/Tensor.h>

#include "core/ops/parameter.h"

namespace wam {

struct Linear {
  Parameter weight;  // (out, in)
  Parameter bias;    // (out)
};

// y = x W^T + b. Products of bf16 accumulate in fp32 and round once.
// Shape: x (..., in), any strides; y (..., out).
at::Tensor linear_forward(const at::Tensor& x, const Linear& linear);

// Returns dx = dy W, and adds dW += dy^T x, db += sum(dy) to the gradients that are defined.
// The gradients are in the state type: nothing rounds to the type of x on the way.
at::Tensor linear_backward(const at::Tensor& dy, const at::Tensor& x, const Linear& linear);

}  // namespace wam
