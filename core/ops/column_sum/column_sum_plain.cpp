#include "core/ops/column_sum/column_sum_plain.h"

namespace wam {

void add_column_sums_plain(const at::Tensor& dy_RO, const at::Tensor& gradient_O) {
  at::Tensor gradient = gradient_O;
  const at::Tensor sum = dy_RO.sum(at::IntArrayRef{0}, /*keepdim=*/false, gradient.scalar_type());
  gradient.add_(sum.view(gradient.sizes()));
}

}  // namespace wam
