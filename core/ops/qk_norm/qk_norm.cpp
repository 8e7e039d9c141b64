#include "core/ops/qk_norm/qk_norm.h"

#include <ATen/ops/empty.h>

#include "core/cuda/tensor_kernel.h"
#include "core/ops/qk_norm/qk_norm_launch.h"
#include "core/ops/qk_norm/qk_norm_plain.h"

namespace wam {

at::Tensor qk_norm_forward(const at::Tensor& x_BLD,
                           const QkNorm& norm,
                           const at::Tensor& rotary,
                           at::Tensor& rstd_BL1) {
  if constexpr (kBuiltForCuda) {
    if (runs_kernel(x_BLD)) return qk_norm_forward_launch(x_BLD, norm, rotary, rstd_BL1);
  }
  return qk_norm_forward_plain(x_BLD, norm, rotary, rstd_BL1);
}

void qk_norm_backward(const at::Tensor& dy_BLNK,
                      const at::Tensor& x_BLD,
                      const QkNorm& norm,
                      const at::Tensor& rotary,
                      const at::Tensor& rstd_BL1,
                      const at::Tensor& dx_BLD) {
  if constexpr (kBuiltForCuda) {
    if (runs_kernel(x_BLD)) {
      return qk_norm_backward_launch(dy_BLNK, x_BLD, norm, rotary, rstd_BL1, dx_BLD);
    }
  }
  qk_norm_backward_plain(dy_BLNK, x_BLD, norm, rotary, rstd_BL1, dx_BLD);
}

at::Tensor qk_norm_backward(const at::Tensor& dy_BLNK,
                            const at::Tensor& x_BLD,
                            const QkNorm& norm,
                            const at::Tensor& rotary,
                            const at::Tensor& rstd_BL1) {
  at::Tensor dx = at::empty(x_BLD.sizes(), x_BLD.options());
  qk_norm_backward(dy_BLNK, x_BLD, norm, rotary, rstd_BL1, dx);
  return dx;
}

}  // namespace wam
