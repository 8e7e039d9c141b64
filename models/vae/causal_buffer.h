#pragma once

#include <string>

#include <ATen/core/Tensor.h>

#include "models/vae/clip_memory.h"
#include "models/vae/conv.h"

namespace wam {

// B batch · C channel · T frame · H W row, column

// The input of a causal convolution (kernel 3 in time): its frames, and what it sees before the
// first of them, two frames of zeros or those that the slot remembers.
//
// With a 3-D kernel the two stand in front of the frames: (B, C, 2 + T, H, W). With a 2-D kernel
// over frames side by side each frame stands three times, behind the two before it in channels: (B,
// 3 C, T, H, W). Channels that the kernel has beyond those are zero.
class CausalBuffer {
 public:
  // For frames like those of x, which are not written yet.
  CausalBuffer(const VaeContext& vae,
               const std::string& prefix,
               const at::Tensor& x_BCTHW,
               const at::Tensor& slot);

  // Where channel_norm writes the frames: (B, C or 3 C, T, H, W).
  [[nodiscard]] const at::Tensor& frames() const noexcept { return frames_; }
  // The convolution, after the frames were written. Fills the slot when the clip comes in pieces.
  [[nodiscard]] ChannelTerms convolve(const VaeContext& vae,
                                      const std::string& prefix,
                                      at::Tensor& slot,
                                      const ClipMemory& memory) const;

 private:
  void put_before_side_by_side(std::int64_t channels, const at::Tensor& slot);
  [[nodiscard]] at::Tensor last_two_frames() const;

  bool side_by_side_;
  at::Tensor buffer_;
  at::Tensor frames_;
};

}  // namespace wam
