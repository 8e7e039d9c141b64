#include "core/ops/gated_residual/gated_residual.h"

#include "core/cuda/tensor_kernel.h"
#include "core/ops/gated_residual/gated_residual_launch.h"
#include "core/ops/gated_residual/gated_residual_plain.h"

namespace wam {

at::Tensor gated_residual_forward(const at::Tensor& x_BLD,
                                  const at::Tensor& y_BLD,
                                  const at::Tensor& gate_BRD,
                                  const TokenRows& rows) {
  if constexpr (kBuiltForCuda) {
    if (runs_kernel(x_BLD)) return gated_residual_forward_launch(x_BLD, y_BLD, gate_BRD, rows);
  }
  return gated_residual_forward_plain(x_BLD, y_BLD, gate_BRD, rows);
}

at::Tensor gated_residual_backward(const at::Tensor& dout_BLD,
                                   const at::Tensor& y_BLD,
                                   const at::Tensor& gate_BRD,
                                   const TokenRows& rows,
                                   const at::Tensor& dgate_BRD) {
  if constexpr (kBuiltForCuda) {
    if (runs_kernel(y_BLD)) {
      return gated_residual_backward_launch(dout_BLD, y_BLD, gate_BRD, rows, dgate_BRD);
    }
  }
  return gated_residual_backward_plain(dout_BLD, y_BLD, gate_BRD, rows, dgate_BRD);
}

}  // namespace wam
