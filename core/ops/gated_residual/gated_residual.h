#pragma once

#include <ATen/core/Tensor.h>

#include "core/ops/token_rows/token_rows.h"

namespace wam {

// out[l] = x[l] + y[l] * gate[row(l)]; the product and the sum round to the type of x each.
// Shape: x, y, out (B, L, D), any strides; gate (B, R, D).
// GPU:   the rows have runs (rows_for); D a multiple of 8.
at::Tensor gated_residual_forward(const at::Tensor& x_BLD,
                                  const at::Tensor& y_BLD,
                                  const at::Tensor& gate_BRD,
                                  const TokenRows& rows);

// Returns dy (dx is dout); adds to dgate (B, R, D) in the accumulate type.
at::Tensor gated_residual_backward(const at::Tensor& dout_BLD,
                                   const at::Tensor& y_BLD,
                                   const at::Tensor& gate_BRD,
                                   const TokenRows& rows,
                                   const at::Tensor& dgate_BRD);

}  // namespace wam
