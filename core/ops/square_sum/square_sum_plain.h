#pragma once

#include "core/ops/square_sum/square_sum.h"

namespace wam {

// The plain twin of square_sums.
void square_sums_plain(const at::Tensor& sum_S, const at::Tensor& flat, const SegmentTable& table);

}  // namespace wam
