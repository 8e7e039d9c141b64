#include "core/ops/layer_norm/layer_norm.h"

#include "core/cuda/tensor_kernel.h"
#include "core/ops/layer_norm/layer_norm_launch.h"
#include "core/ops/layer_norm/layer_norm_plain.h"

namespace wam {

at::Tensor layer_norm_forward(const at::Tensor& x_BLD,
                              const LayerNorm& norm,
                              double eps,
                              NormStatistics& statistics) {
  if constexpr (kBuiltForCuda) {
    if (runs_kernel(x_BLD)) return layer_norm_forward_launch(x_BLD, norm, eps, statistics);
  }
  return layer_norm_forward_plain(x_BLD, norm, eps, statistics);
}

at::Tensor layer_norm_backward(const at::Tensor& dy_BLD,
                               const at::Tensor& x_BLD,
                               const LayerNorm& norm,
                               const NormStatistics& statistics,
                               const at::Tensor& residual_BLD) {
  if constexpr (kBuiltForCuda) {
    if (runs_kernel(x_BLD)) {
      return layer_norm_backward_launch(dy_BLD, x_BLD, norm, statistics, residual_BLD);
    }
  }
  return layer_norm_backward_plain(dy_BLD, x_BLD, norm, statistics, residual_BLD);
}

}  // namespace wam
