#include "core/ops/gated_residual/gated_residual_plain.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>

namespace wam {

at::Tensor gated_residual_forward_plain(const at::Tensor& x_BLD,
                                        const at::Tensor& y_BLD,
                                        const at::Tensor& gate_BRD,
                                        const TokenRows& rows) {
  at::Tensor out_BLD = at::empty(x_BLD.sizes(), x_BLD.options());
  for (const TokenGroup& group : rows.groups) {
    const at::Tensor product = group_tokens(y_BLD, group) * group_rows(gate_BRD, group);
    group_tokens(out_BLD, group).copy_(group_tokens(x_BLD, group) + product);
  }
  return out_BLD;
}

at::Tensor gated_residual_backward_plain(const at::Tensor& dout_BLD,
                                         const at::Tensor& y_BLD,
                                         const at::Tensor& gate_BRD,
                                         const TokenRows& rows,
                                         const at::Tensor& dgate_BRD) {
  const auto wide = dgate_BRD.scalar_type();
  at::Tensor dy_BLD = at::empty(y_BLD.sizes(), y_BLD.options());
  for (const TokenGroup& group : rows.groups) {
    const at::Tensor dout = group_tokens(dout_BLD, group);
    add_to_group_rows(dgate_BRD, group, dout.to(wide) * group_tokens(y_BLD, group).to(wide));
    group_tokens(dy_BLD, group).copy_(dout * group_rows(gate_BRD, group));
  }
  return dy_BLD;
}

}  // namespace wam
