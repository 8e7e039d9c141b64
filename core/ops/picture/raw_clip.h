#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include "core/ops/picture/clip.h"

namespace wam {

// T frame · H W row, column · N byte

// A clip as it was recorded, and what makes the model's image of it.
struct RawClip {
  std::vector<at::Tensor> view_THWC;  // uint8 on the CPU, contiguous, one for each of the plan's
  std::shared_ptr<const ClipPlan> plan;
  ClipDraws draws;
  std::int64_t room = 0;  // bytes of the longest clip that may share a batch with it

  [[nodiscard]] std::int64_t frames() const { return view_THWC.front().size(0); }
  [[nodiscard]] std::int64_t bytes() const;
};

// Clips of equally many frames and equal canvases, side by side; their pictures may differ in size.
struct RawClips {
  struct Clip {
    std::shared_ptr<const ClipPlan> plan;
    ClipDraws draws;
  };
  at::Tensor bytes_BN;  // uint8: a clip's views one after the other, and room for the longest
  std::int64_t frames = 0;
  std::vector<Clip> clips;
};

// (T, H, W, 3) uint8 on the CPU.
at::Tensor image_of(const RawClip& clip);
// The same into contiguous memory of this shape.
void image_into(const RawClip& clip, const at::Tensor& image_THWC);

// (B, T, H, W, 3) uint8 on `device`: by a kernel on a GPU, which gives the CPU's bytes.
// Stream: ordered on the current one; does not wait when `bytes_BN` is pinned.
at::Tensor images_of(const RawClips& clips, c10::Device device);

}  // namespace wam
