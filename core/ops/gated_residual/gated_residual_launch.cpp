#include "core/ops/gated_residual/gated_residual_launch.h"

#include <ATen/ops/empty.h>

#include "core/base/errors.h"
#include "core/cuda/tensor_kernel.h"
#include "core/ops/gated_residual/gated_residual_kernel.h"
#include "core/ops/token_rows/run_launch.h"

namespace wam {
namespace {

RunWork work_of(const at::Tensor& x_BLD,
                const at::Tensor& y_BLD,
                const at::Tensor& gate_BRD,
                const TokenRows& rows) {
  invariant(
      x_BLD.sizes() == y_BLD.sizes() && gate_BRD.dim() == 3 && gate_BRD.size(0) == x_BLD.size(0),
      "gated residual: tokens of two shapes, or a gate that is not (B, R, D)");
  return run_work(x_BLD, rows, gate_BRD.size(1));
}

}  // namespace

at::Tensor gated_residual_forward_launch(const at::Tensor& x_BLD,
                                         const at::Tensor& y_BLD,
                                         const at::Tensor& gate_BRD,
                                         const TokenRows& rows) {
  const RunWork work = work_of(x_BLD, y_BLD, gate_BRD, rows);
  at::Tensor out_BLD = at::empty(x_BLD.sizes(), x_BLD.options());
  gated_residual_forward({.element = element_of(x_BLD),
                          .x = rows_in(x_BLD, x_BLD, "x"),
                          .y = rows_in(y_BLD, x_BLD, "y"),
                          .gate = rows_in(gate_BRD, x_BLD, "gate"),
                          .out_BLD = out_BLD.mutable_data_ptr()},
                         work, current_stream());
  return out_BLD;
}

at::Tensor gated_residual_backward_launch(const at::Tensor& dout_BLD,
                                          const at::Tensor& y_BLD,
                                          const at::Tensor& gate_BRD,
                                          const TokenRows& rows,
                                          const at::Tensor& dgate_BRD) {
  invariant(dgate_BRD.sizes() == gate_BRD.sizes(), "a gate and its gradient have one shape");
  const RunWork work = work_of(dout_BLD, y_BLD, gate_BRD, rows);
  const RunSplit split = split_runs(work, kSummingBlocks);
  at::Tensor dy_BLD = at::empty(y_BLD.sizes(), y_BLD.options());
  const at::Tensor partial_BSD =
      at::empty({work.batch, split.slots, work.width}, y_BLD.options().dtype(at::kFloat));
  auto* partial = partial_BSD.mutable_data_ptr<float>();
  gated_residual_backward({.element = element_of(y_BLD),
                           .dout = rows_in(dout_BLD, y_BLD, "dout"),
                           .y = rows_in(y_BLD, y_BLD, "y"),
                           .gate = rows_in(gate_BRD, y_BLD, "gate"),
                           .dy_BLD = dy_BLD.mutable_data_ptr(),
                           .partial_BSD = partial},
                          work, split, current_stream());
  add_run_sums({.partial_BSVD = partial,
                .num_vectors = 1,
                .sum = {sums_of(dgate_BRD, work.width, "dgate"), {}}},
               work, split, current_stream());
  return dy_BLD;
}

}  // namespace wam
