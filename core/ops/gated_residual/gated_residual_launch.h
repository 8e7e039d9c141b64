#pragma once

#include <ATen/core/Tensor.h>

#include "core/ops/gated_residual/gated_residual.h"

namespace wam {

// gated_residual.h by kernels, in builds for GPUs.
at::Tensor gated_residual_forward_launch(const at::Tensor& x_BLD,
                                         const at::Tensor& y_BLD,
                                         const at::Tensor& gate_BRD,
                                         const TokenRows& rows);
at::Tensor gated_residual_backward_launch(const at::Tensor& dout_BLD,
                                          const at::Tensor& y_BLD,
                                          const at::Tensor& gate_BRD,
                                          const TokenRows& rows,
                                          const at::Tensor& dgate_BRD);

}  // namespace wam
