#pragma once

#include "core/ops/video_patches/video_patches.h"

namespace wam {

at::Tensor video_patches_plain(const at::Tensor& video_BCTHW, const VideoPatches& options);

}  // namespace wam
