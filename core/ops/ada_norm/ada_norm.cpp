#include "core/ops/ada_norm/ada_norm.h"

#include "core/cuda/tensor_kernel.h"
#include "core/ops/ada_norm/ada_norm_launch.h"
#include "core/ops/ada_norm/ada_norm_plain.h"

namespace wam {

at::Tensor ada_norm_forward(const at::Tensor& x_BLD,
                            const Modulation& modulation,
                            const TokenRows& rows,
                            double eps,
                            NormStatistics& statistics) {
  if constexpr (kBuiltForCuda) {
    if (runs_kernel(x_BLD)) {
      return ada_norm_forward_launch(x_BLD, modulation, rows, eps, statistics);
    }
  }
  return ada_norm_forward_plain(x_BLD, modulation, rows, eps, statistics);
}

at::Tensor ada_norm_backward(const at::Tensor& dy_BLD,
                             const at::Tensor& x_BLD,
                             const Modulation& modulation,
                             const TokenRows& rows,
                             const NormStatistics& statistics,
                             const Modulation& dmodulation,
                             const at::Tensor& residual_BLD) {
  if constexpr (kBuiltForCuda) {
    if (runs_kernel(x_BLD)) {
      return ada_norm_backward_launch(dy_BLD, x_BLD, modulation, rows, statistics, dmodulation,
                                      residual_BLD);
    }
  }
  return ada_norm_backward_plain(dy_BLD, x_BLD, modulation, rows, statistics, dmodulation,
                                 residual_BLD);
}

}  // namespace wam
