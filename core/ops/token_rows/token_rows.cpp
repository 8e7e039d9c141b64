#include "core/ops/token_rows/token_rows.h"

#include <ATen/ops/full.h>

#include "core/base/errors.h"

namespace wam {

TokenRows rows_for(at::Device device, TokenRows rows, std::int64_t num_rows) {
  if (device.is_cuda()) rows.runs = token_runs(rows, num_rows, device);
  return rows;
}

at::Tensor group_tokens(const at::Tensor& x_BLD, const TokenGroup& g) {
  const auto stride = x_BLD.strides();
  return x_BLD.as_strided({x_BLD.size(0), g.outer, g.inner, x_BLD.size(2)},
                          {stride[0], g.outer_stride * stride[1], stride[1], stride[2]},
                          x_BLD.storage_offset() + g.begin * stride[1]);
}

at::Tensor group_rows(const at::Tensor& table_BRD, const TokenGroup& g) {
  const auto stride = table_BRD.strides();
  const std::int64_t inner = g.row_inner_stride == 0 ? 1 : g.inner;
  return table_BRD.as_strided(
      {table_BRD.size(0), g.outer, inner, table_BRD.size(2)},
      {stride[0], g.row_outer_stride * stride[1], g.row_inner_stride * stride[1], stride[2]},
      table_BRD.storage_offset() + g.row_begin * stride[1]);
}

void add_to_group_rows(const at::Tensor& table_BRD,
                       const TokenGroup& g,
                       const at::Tensor& values_BOID) {
  // An outer stride of zero over several outer tokens would add to one row in no fixed order.
  invariant(g.outer == 1 || g.row_outer_stride != 0, "outer tokens of a group share a row");
  at::Tensor rows = group_rows(table_BRD, g);
  rows.add_(g.row_inner_stride == 0 ? values_BOID.sum(at::IntArrayRef{2}, /*keepdim=*/true)
                                    : values_BOID);
}

at::Tensor row_of_token(const TokenRows& rows) {
  at::Tensor out = at::full({rows.tokens}, -1, at::kLong);
  auto* row = out.mutable_data_ptr<std::int64_t>();
  for (const TokenGroup& g : rows.groups) {
    for (std::int64_t o = 0; o < g.outer; ++o) {
      for (std::int64_t i = 0; i < g.inner; ++i) {
        row[g.begin + o * g.outer_stride + i] =
            g.row_begin + o * g.row_outer_stride + i * g.row_inner_stride;
      }
    }
  }
  return out;
}

}  // namespace wam
