#pragma once

#include <ATen/core/Tensor.h>

#include "core/ops/parameter.h"

namespace wam {

// Of each token, in the accumulate type: (B, L, 1).
struct NormStatistics {
  at::Tensor mean;
  at::Tensor rstd;  // 1 / sqrt(variance + eps)
};

// (x - mean) * rstd without parameters, in the accumulate type; fills `statistics`.
at::Tensor normalise(const at::Tensor& x_BLD, double eps, NormStatistics& statistics);
// The same values again from kept statistics.
at::Tensor normalised(const at::Tensor& x_BLD, const NormStatistics& statistics);
// dx of `normalise` from d(normalised) in the accumulate type, rounded to the type of x.
at::Tensor normalise_backward(const at::Tensor& dnormalised,
                              const at::Tensor& x_BLD,
                              const NormStatistics& statistics);

struct LayerNorm {
  Parameter weight;  // (D)
  Parameter bias;    // (D)
};

// y = LN(x) * w + b, evaluated in the accumulate type and rounded once to the type of x.
at::Tensor layer_norm_forward(const at::Tensor& x_BLD,
                              const LayerNorm& norm,
                              double eps,
                              NormStatistics& statistics);
// Returns dx; adds to the gradients that are defined.
at::Tensor layer_norm_backward(const at::Tensor& dy_BLD,
                               const at::Tensor& x_BLD,
                               const LayerNorm& norm,
                               const NormStatistics& statistics);

}  // namespace wam
