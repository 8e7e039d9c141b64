#pragma once

#include <ATen/core/Tensor.h>

namespace wam {

// The plain form of column_sum.h.
void add_column_sums_plain(const at::Tensor& dy_RO, const at::Tensor& gradient_O);

}  // namespace wam
