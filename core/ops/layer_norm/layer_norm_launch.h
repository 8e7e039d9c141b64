#pragma once

#include <ATen/core/Tensor.h>

#include "core/ops/layer_norm/layer_norm.h"
#include "core/ops/layer_norm/layer_norm_kernel.h"

namespace wam {

// layer_norm.h by kernels, in builds for GPUs.
at::Tensor layer_norm_forward_launch(const at::Tensor& x_BLD,
                                     const LayerNorm& norm,
                                     double eps,
                                     NormStatistics& statistics);
at::Tensor layer_norm_backward_launch(const at::Tensor& dy_BLD,
                                      const at::Tensor& x_BLD,
                                      const LayerNorm& norm,
                                      const NormStatistics& statistics,
                                      const at::Tensor& residual_BLD);

// The rows of the kernels' table, or what their sums are added to.
struct NormTable {
  at::Tensor shift;  // (B, R, D) or (D)
  at::Tensor scale;
};

// The kernels of layer_norm_kernel.h on tensors.
at::Tensor norm_forward_launch(const at::Tensor& x_BLD,
                               const NormTable& table,
                               float scale_offset,
                               const RunWork& work,
                               double eps,
                               NormStatistics& statistics);
struct NormBackwardTensors {
  const at::Tensor& dy_BLD;
  const at::Tensor& x_BLD;
  const at::Tensor& residual_BLD;  // may be undefined
  const at::Tensor& scale;
  const NormStatistics& statistics;
};
// Returns dx; adds to the tables of `dtable` that are defined.
at::Tensor norm_backward_launch(const NormBackwardTensors& in,
                                const NormTable& dtable,
                                float scale_offset,
                                const RunWork& work);

}  // namespace wam
