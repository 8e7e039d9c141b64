#include "core/ops/column_sum/column_sum_launch.h"

#include <ATen/ops/empty.h>

#include "core/base/errors.h"
#include "core/cuda/tensor_kernel.h"
#include "core/ops/column_sum/column_sum_kernel.h"

namespace wam {
namespace {

ColumnGradient gradient_of(const at::Tensor& gradient_O) {
  const bool parts = gradient_O.dim() == 2;
  invariant(gradient_O.scalar_type() == at::kFloat && (parts || gradient_O.dim() == 1) &&
                gradient_O.stride(-1) == 1,
            "a column sum adds to one or more fp32 rows");
  return {.data = gradient_O.mutable_data_ptr<float>(),
          .part_columns = gradient_O.size(-1),
          .part_stride = parts ? gradient_O.stride(0) : 0};
}

}  // namespace

void add_column_sums_launch(const at::Tensor& dy_RO, const at::Tensor& gradient_O) {
  if (dy_RO.numel() == 0) return;
  check_vector_rows(dy_RO, "dy");
  const std::int64_t rows = dy_RO.size(0);
  const std::int64_t columns = dy_RO.size(1);
  const ColumnSlabs slabs = column_slabs(rows, columns, kColumnSumBlocksPerSm);
  const at::Tensor partial = at::empty({slabs.count, columns}, dy_RO.options().dtype(at::kFloat));
  launch_column_partials(partial.mutable_data_ptr<float>(), dy_RO.const_data_ptr(), dy_RO.stride(0),
                         rows, columns, slabs, element_of(dy_RO), current_stream());
  add_partial_sums_launch(partial, gradient_O);
}

void add_partial_sums_launch(const at::Tensor& partial_PO, const at::Tensor& gradient_O) {
  if (partial_PO.numel() == 0) return;
  launch_add_partials(gradient_of(gradient_O), partial_PO.const_data_ptr<float>(),
                      partial_PO.size(0), partial_PO.size(1), current_stream());
}

}  // namespace wam
