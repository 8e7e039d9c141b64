#pragma once

#include <ATen/core/Tensor.h>

#include "core/ops/ada_norm/ada_norm.h"

namespace wam {

// ada_norm.h as LibTorch expressions, for any device and type: the definition of right.
at::Tensor ada_norm_forward_plain(const at::Tensor& x_BLD,
                                  const Modulation& modulation,
                                  const TokenRows& rows,
                                  double eps,
                                  NormStatistics& statistics);
at::Tensor ada_norm_backward_plain(const at::Tensor& dy_BLD,
                                   const at::Tensor& x_BLD,
                                   const Modulation& modulation,
                                   const TokenRows& rows,
                                   const NormStatistics& statistics,
                                   const Modulation& dmodulation,
                                   const at::Tensor& residual_BLD);

}  // namespace wam
