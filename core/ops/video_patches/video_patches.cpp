#include "core/ops/video_patches/video_patches.h"

#include <limits>

#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty.h>

#include "core/base/errors.h"
#include "core/cuda/tensor_kernel.h"
#include "core/ops/video_patches/video_patches_kernel.h"
#include "core/ops/video_patches/video_patches_plain.h"

namespace wam {
namespace {

at::Tensor patches_by_kernel(const at::Tensor& video_BCTHW, const VideoPatches& options) {
  const at::Tensor video = video_BCTHW.contiguous();
  VideoPatchesTask task;
  task.element = element_of(video);
  task.clips = video.size(0);
  task.frames = static_cast<int>(video.size(2));
  task.first_frame = static_cast<int>(options.first_frame);
  task.rows = static_cast<int>(video.size(3));
  task.columns = static_cast<int>(video.size(4));
  task.pixel = static_cast<int>(options.pixel);
  task.width = static_cast<int>(options.width());
  const std::int64_t positions = video.size(0) * (video.size(2) - options.first_frame) *
                                 (video.size(3) / options.pixel) * (video.size(4) / options.pixel);
  invariant(positions <= std::numeric_limits<std::int32_t>::max(), "too many positions in a call");
  at::Tensor out_RK = at::empty({positions, options.width()}, video.options());
  task.video = video.const_data_ptr();
  task.out = out_RK.mutable_data_ptr();
  if constexpr (kBuiltForCuda) video_patches_launch(task, current_stream());
  return out_RK;
}

}  // namespace

at::Tensor video_patches(const at::Tensor& video_BCTHW, const VideoPatches& options) {
  require<InvariantError>(
      video_BCTHW.dim() == 5 && video_BCTHW.size(1) == 3 &&
          (options.pixel == 1 || options.pixel == 2) && video_BCTHW.size(3) % options.pixel == 0 &&
          video_BCTHW.size(4) % options.pixel == 0 && options.first_frame <= video_BCTHW.size(2),
      "patches of {} pixels from a video of {} frames of {} x {}", options.pixel,
      video_BCTHW.size(2), video_BCTHW.size(3), video_BCTHW.size(4));
  if (runs_kernel(video_BCTHW)) return patches_by_kernel(video_BCTHW, options);
  return video_patches_plain(video_BCTHW, options);
}

at::Tensor video_patches_weight(const at::Tensor& weight,
                                const at::Tensor& bias,
                                const VideoPatches& options) {
  const at::Tensor taps_OK = weight.permute({0, 2, 3, 4, 1}).flatten(1);
  return at::constant_pad_nd(at::cat({taps_OK, bias.unsqueeze(1)}, 1),
                             {0, options.width() - options.used_width()}, 0);
}

}  // namespace wam
