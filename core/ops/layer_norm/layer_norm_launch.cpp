#include "core/ops/layer_norm/layer_norm_launch.h"

#include <ATen/ops/empty.h>

#include "core/base/errors.h"
#include "core/cuda/tensor_kernel.h"
#include "core/ops/token_rows/run_launch.h"

namespace wam {
namespace {

void check_width(const RunWork& work) {
  static_assert(kLayerNormMaxWidth == 1024 * kVectorElements);  // threads of a block
  require<InvariantError>(work.width <= kLayerNormMaxWidth, "layer norm of width {}, at most {}",
                          work.width, kLayerNormMaxWidth);
}

const float* statistic(const at::Tensor& value, const at::Tensor& x_BLD) {
  invariant(value.scalar_type() == at::kFloat && value.is_contiguous() &&
                value.numel() == x_BLD.size(0) * x_BLD.size(1),
            "a norm's statistics are dense fp32, one a token");
  return value.const_data_ptr<float>();
}

RowsIn optional_rows(const at::Tensor& x, const at::Tensor& like, const char* name) {
  return x.defined() ? rows_in(x, like, name) : RowsIn{};
}

}  // namespace

at::Tensor norm_forward_launch(const at::Tensor& x_BLD,
                               const NormTable& table,
                               float scale_offset,
                               const RunWork& work,
                               double eps,
                               NormStatistics& statistics) {
  check_width(work);
  const auto wide = x_BLD.options().dtype(at::kFloat);
  at::Tensor y_BLD = at::empty(x_BLD.sizes(), x_BLD.options());
  statistics = {at::empty({work.batch, work.tokens, 1}, wide),
                at::empty({work.batch, work.tokens, 1}, wide)};
  const NormForward norm{.element = element_of(x_BLD),
                         .x = rows_in(x_BLD, x_BLD, "x"),
                         .scale = rows_in(table.scale, x_BLD, "scale"),
                         .shift = rows_in(table.shift, x_BLD, "shift"),
                         .scale_offset = scale_offset,
                         .eps = static_cast<float>(eps),
                         .y_BLD = y_BLD.mutable_data_ptr(),
                         .mean_BL = statistics.mean.mutable_data_ptr<float>(),
                         .rstd_BL = statistics.rstd.mutable_data_ptr<float>()};
  norm_forward(norm, work, current_stream());
  return y_BLD;
}

at::Tensor norm_backward_launch(const NormBackwardTensors& in,
                                const NormTable& dtable,
                                float scale_offset,
                                const RunWork& work) {
  check_width(work);
  invariant(in.dy_BLD.sizes() == in.x_BLD.sizes() &&
                (!in.residual_BLD.defined() || in.residual_BLD.sizes() == in.x_BLD.sizes()),
            "layer norm backward: dy or the residual has another shape than x");
  const RunSplit split = split_runs(work, kSummingBlocks);
  at::Tensor dx_BLD = at::empty(in.x_BLD.sizes(), in.x_BLD.options());
  const bool summed = dtable.shift.defined() || dtable.scale.defined();
  const at::Tensor partial_BSVD = at::empty({work.batch, summed ? split.slots : 0, 2, work.width},
                                            in.x_BLD.options().dtype(at::kFloat));
  auto* partial = summed ? partial_BSVD.mutable_data_ptr<float>() : nullptr;
  const NormBackward norm{.element = element_of(in.x_BLD),
                          .dy = rows_in(in.dy_BLD, in.x_BLD, "dy"),
                          .x = rows_in(in.x_BLD, in.x_BLD, "x"),
                          .residual = optional_rows(in.residual_BLD, in.x_BLD, "residual"),
                          .scale = rows_in(in.scale, in.x_BLD, "scale"),
                          .scale_offset = scale_offset,
                          .mean_BL = statistic(in.statistics.mean, in.x_BLD),
                          .rstd_BL = statistic(in.statistics.rstd, in.x_BLD),
                          .dx_BLD = dx_BLD.mutable_data_ptr(),
                          .partial_BSVD = partial};
  norm_backward(norm, work, split, current_stream());
  if (summed) {
    add_run_sums({.partial_BSVD = partial,
                  .num_vectors = 2,
                  .sum = {sums_of(dtable.shift, work.width, "dshift"),
                          sums_of(dtable.scale, work.width, "dscale")}},
                 work, split, current_stream());
  }
  return dx_BLD;
}

at::Tensor layer_norm_forward_launch(const at::Tensor& x_BLD,
                                     const LayerNorm& norm,
                                     double eps,
                                     NormStatistics& statistics) {
  return norm_forward_launch(x_BLD, {norm.bias.value, norm.weight.value}, /*scale_offset=*/0.0F,
                             one_row_work(x_BLD), eps, statistics);
}

at::Tensor layer_norm_backward_launch(const at::Tensor& dy_BLD,
                                      const at::Tensor& x_BLD,
                                      const LayerNorm& norm,
                                      const NormStatistics& statistics,
                                      const at::Tensor& residual_BLD) {
  return norm_backward_launch({dy_BLD, x_BLD, residual_BLD, norm.weight.value, statistics},
                              {norm.bias.gradient, norm.weight.gradient}, /*scale_offset=*/0.0F,
                              one_row_work(x_BLD));
}

}  // namespace wam
