#pragma once

#include <ATen/core/Tensor.h>

#include "core/ops/picture/raw_clip.h"

namespace wam {

// images_of by the kernels: `bytes_BN` is that of `clips`, on the GPU.
void transform_clips_cuda(const RawClips& clips,
                          const at::Tensor& bytes_BN,
                          const at::Tensor& image_BTHWC);

}  // namespace wam
