#pragma once

#include <ATen/core/Tensor.h>

namespace wam {

// column_sum.h on the GPU: dy bf16 or fp32 with rows of whole vectors, gradient fp32.
void add_column_sums_launch(const at::Tensor& dy_RO, const at::Tensor& gradient_O);

// gradient[o] += sum over p of partial[p, o], in a fixed order: the second stage of a kernel that
// left the sums of its blocks in partial (P, O), fp32 and contiguous. gradient as in column_sum.h.
void add_partial_sums_launch(const at::Tensor& partial_PO, const at::Tensor& gradient_O);

}  // namespace wam
