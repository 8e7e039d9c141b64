#pragma once

#include <ATen/core/Tensor.h>

#include "core/ops/token_rows/run_kernel.h"
#include "core/ops/token_rows/token_rows.h"

namespace wam {

// Arguments of kernels over tokens with rows, of tensors; in builds for GPUs.

// The runs of `rows` for x (B, L, D); `num_rows` is the table's. Errors: InvariantError when they
// were not made (rows_for) or do not fit.
RunWork run_work(const at::Tensor& x_BLD, const TokenRows& rows, std::int64_t num_rows);
// One row for all tokens of all samples.
RunWork one_row_work(const at::Tensor& x_BLD);

// `x` (B, R, D) or (D), read kVectorElements at a time; it has the type of `like`. Strides of a
// vector (D) are 0. Errors: InvariantError, which names it.
RowsIn rows_in(const at::Tensor& x, const at::Tensor& like, const char* name);
// Sums in fp32, (B, R, D) or (D); without data for an undefined tensor.
Rows<float> sums_of(const at::Tensor& sum, std::int64_t width, const char* name);

}  // namespace wam
