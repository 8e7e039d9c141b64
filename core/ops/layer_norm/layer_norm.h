#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "core/ops/parameter.h"

namespace wam {

// Of each token, in the accumulate type: (B, L, 1).
struct NormStatistics {
  at::Tensor mean;
  at::Tensor rstd;  // 1 / sqrt(variance + eps)
};

// The widest token that a kernel takes.
inline constexpr std::int64_t kLayerNormMaxWidth = 8192;

struct LayerNorm {
  Parameter weight;  // (D)
  Parameter bias;    // (D)
};

// y = LN(x) * w + b, evaluated in the accumulate type and rounded once to the type of x.
// Shape: x, y (B, L, D), x with any strides between tokens.
// GPU:   D a multiple of 8, at most kLayerNormMaxWidth.
at::Tensor layer_norm_forward(const at::Tensor& x_BLD,
                              const LayerNorm& norm,
                              double eps,
                              NormStatistics& statistics);

// Returns dx, or residual + dx summed in the accumulate type and rounded once where `residual_BLD`
// (the shape and type of x) is defined; adds to the gradients that are defined.
at::Tensor layer_norm_backward(const at::Tensor& dy_BLD,
                               const at::Tensor& x_BLD,
                               const LayerNorm& norm,
                               const NormStatistics& statistics,
                               const at::Tensor& residual_BLD = {});

}  // namespace wam
