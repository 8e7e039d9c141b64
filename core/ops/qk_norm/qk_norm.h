#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "core/ops/parameter.h"

namespace wam {

// Queries or keys of attention from a projection: RMS norm over the whole width, weight, split into
// heads, then rotary embedding of adjacent pairs (where a table is given).
//
//   n = x * rstd (in the accumulate type, rounded to the type of x), rstd = 1/sqrt(mean(x^2) + eps)
//   z = n * w (rounded);  y[2k] = z[2k] c_k - z[2k+1] s_k,  y[2k+1] = z[2k] s_k + z[2k+1] c_k
//
// Source: WanRMSNorm and rope_apply, Wan2.1 wan/modules/model.py @ 9737cba; Su et al. 2021,
//         arXiv:2104.09864, eq. 34.
// Shape:  x (B, L, D), tokens of any stride: a third of a fused product, a range of its tokens;
//         w (D); rotary (L, K/2, 2) = (cos, sin) in the accumulate type, or undefined;
//         y (B, L, N, K) with N K = D, contiguous; rstd (B, L, 1) in the accumulate type.
// GPU:    K a multiple of 8. 8,000 x 3,072 in bf16: the forward moves 98 MB, 25 us at 4 TB/s; the
//         backward 147 MB, 37 us (with dy in fp32 196 MB, 49 us).
struct QkNorm {
  Parameter weight;
  double eps = 1e-6;
  std::int64_t num_heads = 1;
};

at::Tensor qk_norm_forward(const at::Tensor& x_BLD,
                           const QkNorm& norm,
                           const at::Tensor& rotary,
                           at::Tensor& rstd_BL1);

// Writes dx (B, L, D), tokens of any stride; adds to the weight's gradient where it is defined. dy
// in the type of x or in the accumulate type, tokens of any stride. Rounding counts as identity.
void qk_norm_backward(const at::Tensor& dy_BLNK,
                      const at::Tensor& x_BLD,
                      const QkNorm& norm,
                      const at::Tensor& rotary,
                      const at::Tensor& rstd_BL1,
                      const at::Tensor& dx_BLD);
// The same with dx in memory of its own.
at::Tensor qk_norm_backward(const at::Tensor& dy_BLNK,
                            const at::Tensor& x_BLD,
                            const QkNorm& norm,
                            const at::Tensor& rotary,
                            const at::Tensor& rstd_BL1);

}  // namespace wam
