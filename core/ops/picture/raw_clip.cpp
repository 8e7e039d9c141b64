#include "core/ops/picture/raw_clip.h"

#include <ATen/ops/empty.h>

#include "core/base/errors.h"
#include "core/cuda/tensor_kernel.h"
#include "core/ops/picture/clips_launch.h"

namespace wam {
namespace {

std::vector<const std::uint8_t*> views_of(const ClipPlan& plan,
                                          const std::uint8_t* first,
                                          std::int64_t frames) {
  std::vector<const std::uint8_t*> views;
  for (std::int64_t v = 0; v < plan.num_views; ++v) {
    views.push_back(first + v * frames * plan.picture_bytes());
  }
  return views;
}

void check(const RawClips& clips) {
  invariant(!clips.clips.empty() &&
                clips.bytes_BN.size(0) == static_cast<std::int64_t>(clips.clips.size()) &&
                clips.bytes_BN.is_contiguous(),
            "a plan for every clip");
  const ClipPlan& first = *clips.clips.front().plan;
  for (const auto& clip : clips.clips) {
    const ClipPlan& plan = *clip.plan;
    invariant(plan.height == first.height && plan.width == first.width,
              "clips of one canvas in a batch");
    invariant(plan.num_views * clips.frames * plan.picture_bytes() <= clips.bytes_BN.size(1),
              "room for the longest clip");
  }
}

}  // namespace

std::int64_t RawClip::bytes() const {
  std::int64_t out = 0;
  for (const auto& view : view_THWC) out += view.numel();
  return out;
}

at::Tensor image_of(const RawClip& clip) {
  at::Tensor image_THWC =
      at::empty({clip.frames(), clip.plan->height, clip.plan->width, 3}, at::kByte);
  image_into(clip, image_THWC);
  return image_THWC;
}

void image_into(const RawClip& clip, const at::Tensor& image_THWC) {
  const ClipPlan& plan = *clip.plan;
  invariant(image_THWC.is_contiguous() &&
                image_THWC.sizes() == at::IntArrayRef({clip.frames(), plan.height, plan.width, 3}),
            "room for the image of a clip");
  std::vector<const std::uint8_t*> views;
  for (const auto& view : clip.view_THWC) {
    invariant(view.is_contiguous() && view.size(0) == clip.frames() &&
                  view.numel() == clip.frames() * plan.picture_bytes(),
              "views of the plan's size");
    views.push_back(view.const_data_ptr<std::uint8_t>());
  }
  transform_clip(plan, clip.draws, views, clip.frames(),
                 image_THWC.mutable_data_ptr<std::uint8_t>());
}

at::Tensor images_of(const RawClips& clips, c10::Device device) {
  check(clips);
  const ClipPlan& canvas = *clips.clips.front().plan;
  const at::Tensor bytes_BN = clips.bytes_BN.to(device, /*non_blocking=*/true);
  at::Tensor image_BTHWC = at::empty(
      {bytes_BN.size(0), clips.frames, canvas.height, canvas.width, 3}, bytes_BN.options());
  if constexpr (kBuiltForCuda) {
    if (device.is_cuda()) {
      transform_clips_cuda(clips, bytes_BN, image_BTHWC);
      return image_BTHWC;
    }
  }
  for (std::size_t b = 0; b < clips.clips.size(); ++b) {
    const auto at = static_cast<std::int64_t>(b);
    const auto& clip = clips.clips[b];
    transform_clip(*clip.plan, clip.draws,
                   views_of(*clip.plan, bytes_BN[at].const_data_ptr<std::uint8_t>(), clips.frames),
                   clips.frames, image_BTHWC[at].mutable_data_ptr<std::uint8_t>());
  }
  return image_BTHWC;
}

}  // namespace wam
