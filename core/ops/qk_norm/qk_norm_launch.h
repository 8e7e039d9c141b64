#pragma once

#include <ATen/core/Tensor.h>

#include "core/ops/qk_norm/qk_norm.h"

namespace wam {

// qk_norm.h on the GPU, bf16 or fp32.
at::Tensor qk_norm_forward_launch(const at::Tensor& x_BLD,
                                  const QkNorm& norm,
                                  const at::Tensor& rotary,
                                  at::Tensor& rstd_BL1);
void qk_norm_backward_launch(const at::Tensor& dy_BLNK,
                             const at::Tensor& x_BLD,
                             const QkNorm& norm,
                             const at::Tensor& rotary,
                             const at::Tensor& rstd_BL1,
                             const at::Tensor& dx_BLD);

}  // namespace wam
