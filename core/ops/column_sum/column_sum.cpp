#include "core/ops/column_sum/column_sum.h"

#include "core/base/errors.h"
#include "core/cuda/tensor_kernel.h"
#include "core/ops/column_sum/column_sum_launch.h"
#include "core/ops/column_sum/column_sum_plain.h"

namespace wam {

void add_column_sums(const at::Tensor& dy_RO, const at::Tensor& gradient_O) {
  invariant(dy_RO.dim() == 2 && gradient_O.numel() == dy_RO.size(1),
            "a column sum needs as many gradients as columns");
  if constexpr (kBuiltForCuda) {
    if (runs_kernel(dy_RO)) return add_column_sums_launch(dy_RO, gradient_O);
  }
  add_column_sums_plain(dy_RO, gradient_O);
}

}  // namespace wam
