#include "core/ops/gelu/gelu_launch.h"

#include <ATen/ops/empty.h>

#include "core/base/errors.h"
#include "core/cuda/tensor_kernel.h"
#include "core/ops/column_sum/column_sum_launch.h"
#include "core/ops/gelu/gelu_kernel.h"

namespace wam {
namespace {

void check_argument(const at::Tensor& x, const char* name) {
  check_vector_rows(x, name);
  invariant(x.is_contiguous(), "GELU reads contiguous tensors");
}

}  // namespace

at::Tensor tanh_gelu_forward_launch(const at::Tensor& x) {
  at::Tensor y = at::empty(x.sizes(), x.options());
  if (x.numel() == 0) return y;
  check_argument(x, "x");
  launch_tanh_gelu_forward(y.mutable_data_ptr(), x.const_data_ptr(), x.numel(), element_of(x),
                           current_stream());
  return y;
}

at::Tensor tanh_gelu_backward_launch(const at::Tensor& dy,
                                     const at::Tensor& x,
                                     const at::Tensor& bias_gradient_E) {
  invariant(dy.sizes() == x.sizes() && dy.scalar_type() == x.scalar_type(),
            "dy of GELU has the shape and the type of x");
  at::Tensor dx = at::empty(x.sizes(), x.options());
  if (x.numel() == 0) return dx;
  check_argument(x, "x");
  check_argument(dy, "dy");
  const std::int64_t columns = x.size(-1);
  const std::int64_t rows = x.numel() / columns;
  const ColumnSlabs slabs = column_slabs(rows, columns, kGeluBackwardBlocksPerSm);
  at::Tensor partial;
  if (bias_gradient_E.defined()) {
    partial = at::empty({slabs.count, columns}, x.options().dtype(at::kFloat));
  }
  launch_tanh_gelu_backward(
      {.dx = dx.mutable_data_ptr(),
       .partial = partial.defined() ? partial.mutable_data_ptr<float>() : nullptr,
       .dy = dy.const_data_ptr(),
       .x = x.const_data_ptr(),
       .rows = rows,
       .columns = columns,
       .slabs = slabs},
      element_of(x), current_stream());
  if (partial.defined()) add_partial_sums_launch(partial, bias_gradient_E);
  return dx;
}

}  // namespace wam
