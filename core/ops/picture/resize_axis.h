#pragma once

#include <cstdint>
#include <vector>

namespace wam {

// One axis of an antialiased bilinear resize, half-pixel centres: output i is the weighted sum of
// `taps` inputs from first[i] on.
//
// Source: the "aa" upsampling of PyTorch 2.11 (UpSampleKernel.cpp, triangle filter), weights in
//         float32 as there: truncation to whole levels later makes their rounding visible.
struct ResizeAxis {
  std::int64_t in = 0;
  std::int64_t out = 0;
  std::int64_t taps = 0;            // equal for all outputs; missing ones weigh 0
  std::int64_t stride = 0;          // out, rounded up to kPictureColumns
  std::vector<std::int32_t> first;  // (stride), first[i] + taps <= in
  std::vector<float> weight;        // (taps, stride), 0 past `out`
};
ResizeAxis resize_axis(std::int64_t in, std::int64_t out);

}  // namespace wam
