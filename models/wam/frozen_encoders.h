#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace wam {

// The frozen networks that turn pictures into what the transformer reads. Text comes embedded in
// the batch. Calls happen under no-grad, on the model's device, in the model's order.
class FrozenEncoders {
 public:
  FrozenEncoders() = default;
  FrozenEncoders(const FrozenEncoders&) = delete;
  FrozenEncoders& operator=(const FrozenEncoders&) = delete;
  FrozenEncoders(FrozenEncoders&&) = delete;
  FrozenEncoders& operator=(FrozenEncoders&&) = delete;
  virtual ~FrozenEncoders() = default;

  // video (B, 3, T, H, W) in [-1, 1], T = 1 + 4 n -> normalised latents (B, C, 1 + n, h, w).
  virtual at::Tensor encode_video(const at::Tensor& video_BCTHW) = 0;
  // The latents of the clip that is image (B, 3, H, W) followed by frames of zeros, `frames` in
  // all. Override it where equal frames need not be computed again.
  virtual at::Tensor encode_first_frame(const at::Tensor& image_BCHW, std::int64_t frames) {
    const at::Tensor video_BCTHW = image_BCHW.unsqueeze(2).repeat({1, 1, frames, 1, 1});
    video_BCTHW.narrow(2, 1, frames - 1).zero_();
    return encode_video(video_BCTHW);
  }
  // first frame (B, 3, H, W) in [-1, 1], of any size -> tokens (B, clip_tokens, clip_width).
  virtual at::Tensor clip_features(const at::Tensor& first_frame_BCHW) = 0;
};

}  // namespace wam
