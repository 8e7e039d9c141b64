#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/ops/flat_segment.h"

namespace wam {

// Where the segments of a flat buffer lie, also in the form that the kernels read.
struct SegmentTable {
  std::vector<FlatSegment> segments;
  std::int64_t extent = 0;    // elements up to the end of the last segment, padding included
  at::Tensor piece_P2;        // int64: first element and count of what one block sums
  at::Tensor first_piece_S1;  // int64 (S + 1): segment s is the pieces [first[s], first[s + 1])
};
// Segments are in rising order; those without elements are allowed. The piece tables are undefined
// where no kernel runs.
SegmentTable make_segment_table(std::vector<FlatSegment> segments, at::Device device);

// sum[s] = sum of x^2 over segment s, squared and added up in float64, in a fixed order: no
// gradient in fp32 overflows it, and it is a number exactly when every element is one.
//
// Shape:  sum (S) float64; flat (n) contiguous, any float type.
// Stream: ordered on the current one, does not wait.
// Bytes:  reads flat once: 4 an element in fp32, which is what the kernels take. A block sums a
//         piece of 16,384 elements of one segment, then a block adds the pieces of a segment.
void square_sums(const at::Tensor& sum_S, const at::Tensor& flat, const SegmentTable& table);

}  // namespace wam
