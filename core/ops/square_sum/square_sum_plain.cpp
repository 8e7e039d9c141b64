#include "core/ops/square_sum/square_sum_plain.h"

#include <ATen/ops/linalg_vector_norm.h>

namespace wam {

void square_sums_plain(const at::Tensor& sum_S, const at::Tensor& flat, const SegmentTable& table) {
  std::int64_t s = 0;
  for (const FlatSegment& segment : table.segments) {
    const at::Tensor norm = at::linalg_vector_norm(flat.narrow(0, segment.begin, segment.numel), 2,
                                                   std::nullopt, false, at::kDouble);
    sum_S.select(0, s++).copy_(norm.square());
  }
}

}  // namespace wam
