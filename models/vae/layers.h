#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include <ATen/core/Tensor.h>

#include "models/frozen/frozen_weights.h"

namespace wam {

// B batch · C channel · T frame · H W row, column

// What the convolutions of one pass remember between the chunks of a clip, one slot each in
// execution order. A clip handed over in one piece leaves the slots empty.
//
// A clip may be cut after frame 0 and any multiple of four frames more; the result is the same.
class ClipMemory {
 public:
  explicit ClipMemory(bool in_pieces) : in_pieces_(in_pieces) {}
  // Before each chunk.
  void rewind() { next_ = 0; }
  // Undefined in the first chunk. References stay valid.
  at::Tensor& slot();
  [[nodiscard]] bool in_pieces() const noexcept { return in_pieces_; }

 private:
  bool in_pieces_;
  std::deque<at::Tensor> slots_;
  std::size_t next_ = 0;
};

// The weights in the form the layers want (prepare_vae_weights), and how activations lie in memory.
struct VaeContext {
  const FrozenWeights& weights;
  at::MemoryFormat format;
};

// In place: every convolution weight as (out, in, t, h, w) in `format`, every gamma as
// (1, C, 1, 1, 1).
void prepare_vae_weights(FrozenWeights& weights, at::MemoryFormat format);

// Convolution with kernel 3: one ring of zeros in space, two frames before the first (zeros, or
// what the slot remembers), none after.
at::Tensor causal_conv(const VaeContext& vae,
                       const std::string& prefix,
                       const at::Tensor& x_BCTHW,
                       ClipMemory& memory);
// The same of silu(x / max(|x|, 1e-12) * sqrt(C) * gamma), |x| over channels. Norm and SiLU are
// evaluated in fp32 where the weights are bf16, and rounded once.
at::Tensor norm_silu_conv(const VaeContext& vae,
                          const std::string& gamma,
                          const std::string& prefix,
                          const at::Tensor& x_BCTHW,
                          ClipMemory& memory);
// Convolution with kernel 1.
at::Tensor point_conv(const VaeContext& vae, const std::string& prefix, const at::Tensor& x_BCTHW);

at::Tensor residual_block(const VaeContext& vae,
                          const std::string& prefix,
                          const at::Tensor& x_BCTHW,
                          ClipMemory& memory);
// One head of width C over the positions of each frame.
at::Tensor frame_attention(const VaeContext& vae,
                           const std::string& prefix,
                           const at::Tensor& x_BCTHW);

// Halves rows and columns: zeros at the right and the bottom, kernel 3, stride 2.
at::Tensor down_space(const VaeContext& vae, const std::string& prefix, const at::Tensor& x_BCTHW);
// Halves the frames after the first: kernel 3, stride 2, no padding; frame 0 passes as it is.
at::Tensor down_time(const VaeContext& vae,
                     const std::string& prefix,
                     const at::Tensor& x_BCTHW,
                     ClipMemory& memory);
// Mean of 2 x 2 positions, accumulated in fp32 for bf16.
at::Tensor pool_space(const at::Tensor& x_BCTHW);
// Doubles rows and columns: nearest, then kernel 3.
at::Tensor up_space(const VaeContext& vae, const std::string& prefix, const at::Tensor& x_BCTHW);
// Doubles the frames after the first, which they do not see: n -> 2n - 1. Whole clips only.
at::Tensor up_time(const VaeContext& vae, const std::string& prefix, const at::Tensor& x_BCTHW);

// 2 x 2 pixels to channels: out channel c*4 + r*2 + q = row parity q, column parity r. And back.
at::Tensor pixels_to_channels(const at::Tensor& x_BCTHW);
at::Tensor channels_to_pixels(const at::Tensor& x_BCTHW);

}  // namespace wam
