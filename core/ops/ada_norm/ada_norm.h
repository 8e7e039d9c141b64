#pragma once

#include <ATen/core/Tensor.h>

#include "core/ops/layer_norm/layer_norm.h"
#include "core/ops/token_rows/token_rows.h"

namespace wam {

// Adaptive layer norm: y[l] = LN(x[l]) * (1 + scale[row(l)]) + shift[row(l)], LN without
// parameters. The table has one row for each distinct timestep and is never expanded to tokens.
//
// Source: Peebles & Xie 2023, arXiv:2212.09748, adaLN; Wan2.1 wan/modules/model.py @ 9737cba.
// Shape:  x, y (B, L, D); shift, scale (B, R, D), any strides.
// Types:  LN, product and sum in the accumulate type; 1 + scale rounds to the table's type, y to
//         the type of x.
// GPU:    the rows have runs (rows_for); D a multiple of 8, at most 8,192 (layer_norm_kernel.h).
struct Modulation {
  at::Tensor shift_BRD;
  at::Tensor scale_BRD;
};

at::Tensor ada_norm_forward(const at::Tensor& x_BLD,
                            const Modulation& modulation,
                            const TokenRows& rows,
                            double eps,
                            NormStatistics& statistics);

// Returns dx, or residual + dx summed in the accumulate type and rounded once where `residual_BLD`
// (the shape and type of x) is defined; adds to dmodulation (B, R, D) in the accumulate type.
at::Tensor ada_norm_backward(const at::Tensor& dy_BLD,
                             const at::Tensor& x_BLD,
                             const Modulation& modulation,
                             const TokenRows& rows,
                             const NormStatistics& statistics,
                             const Modulation& dmodulation,
                             const at::Tensor& residual_BLD = {});

}  // namespace wam
