#pragma once

#include <cstdint>
#include <string>

#include <ATen/core/Tensor.h>

namespace wam {

// One complete JPEG file of a picture, (H, W, 3) uint8 RGB contiguous, for people to look at:
// scaled down to `max_width` where it is wider, 4:2:0, with some loss. The same picture and FFmpeg
// give the same bytes. Threads: any. Errors: DeviceError when this FFmpeg has no JPEG encoder.
std::string encode_jpeg(const at::Tensor& rgb_HWC, std::int64_t max_width);

}  // namespace wam
