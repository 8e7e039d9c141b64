#pragma once

#include <ATen/core/Tensor.h>

#include "core/ops/qk_norm/qk_norm.h"

namespace wam {

// The plain form of qk_norm.h.
at::Tensor qk_norm_forward_plain(const at::Tensor& x_BLD,
                                 const QkNorm& norm,
                                 const at::Tensor& rotary,
                                 at::Tensor& rstd_BL1);
void qk_norm_backward_plain(const at::Tensor& dy_BLNK,
                            const at::Tensor& x_BLD,
                            const QkNorm& norm,
                            const at::Tensor& rotary,
                            const at::Tensor& rstd_BL1,
                            const at::Tensor& dx_BLD);

}  // namespace wam
