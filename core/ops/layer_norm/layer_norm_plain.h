#pragma once

#include <ATen/core/Tensor.h>

#include "core/ops/layer_norm/layer_norm.h"

namespace wam {

// layer_norm.h as LibTorch expressions, for any device and type: the definition of right.
at::Tensor layer_norm_forward_plain(const at::Tensor& x_BLD,
                                    const LayerNorm& norm,
                                    double eps,
                                    NormStatistics& statistics);
at::Tensor layer_norm_backward_plain(const at::Tensor& dy_BLD,
                                     const at::Tensor& x_BLD,
                                     const LayerNorm& norm,
                                     const NormStatistics& statistics,
                                     const at::Tensor& residual_BLD);

// (x - mean) * rstd without parameters, in the accumulate type; fills `statistics`.
at::Tensor normalise(const at::Tensor& x_BLD, double eps, NormStatistics& statistics);
// The same values again from kept statistics.
at::Tensor normalised(const at::Tensor& x_BLD, const NormStatistics& statistics);
// dx of `normalise` from d(normalised) in the accumulate type, plus `residual_BLD` where it is
// defined; rounded to the type of x.
at::Tensor normalise_backward(const at::Tensor& dnormalised,
                              const at::Tensor& x_BLD,
                              const NormStatistics& statistics,
                              const at::Tensor& residual_BLD);

}  // namespace wam
