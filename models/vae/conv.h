#pragma once

#include <array>
#include <cstdint>
#include <string>

#include <ATen/core/Tensor.h>

#include "core/ops/channel_norm/channel_norm.h"
#include "models/frozen/frozen_weights.h"

namespace wam {

// B batch · C channel · T frame · H W row, column

// The weights in the form the convolutions want (prepare_vae_weights), and how activations lie in
// memory.
struct VaeContext {
  const FrozenWeights& weights;
  at::MemoryFormat format;
};

// The convolution that reads the video.
inline constexpr const char* kInputConv = "encoder.conv1";

// In place. Every gamma becomes (1, C, 1, 1, 1). On a CPU every convolution weight becomes
// (out, in, t, h, w). On a GPU, where cuDNN's 2-D kernels are up to six times faster than its 3-D
// ones, kernels that act on each frame become (out, in, h, w), and so do those causal ones for
// which it pays, over three frames side by side in channels: (out, 3 in, h, w). The input
// convolution becomes a matrix for video_patches of `pixel`. Biases become (1, C, 1, 1, 1) in the
// accumulate type.
void prepare_vae_weights(FrozenWeights& weights, at::MemoryFormat format, std::int64_t pixel);

// Whether the causal convolution `prefix` wants three frames side by side.
bool joins_frames(const VaeContext& vae, const std::string& prefix);

using ConvExtent = std::array<std::int64_t, 3>;  // time, rows, columns

struct ConvShape {
  ConvExtent stride{1, 1, 1};
  ConvExtent padding{0, 0, 0};
};

// The convolution `prefix`; a 2-D kernel acts on each frame. On a GPU its bias is not added yet:
// who reads the sum adds it on the way. x of the result belongs to the result alone. Deterministic:
// the algorithm is cuDNN's first choice for a shape, never one found by timing.
ChannelTerms conv_terms(const VaeContext& vae,
                        const std::string& prefix,
                        const at::Tensor& x_BCTHW,
                        const ConvShape& shape);
at::Tensor conv(const VaeContext& vae,
                const std::string& prefix,
                const at::Tensor& x_BCTHW,
                const ConvShape& shape);
// Convolution with kernel 1.
at::Tensor point_conv(const VaeContext& vae, const std::string& prefix, const at::Tensor& x_BCTHW);

// The sum written down, into x itself where there is more than x.
at::Tensor resolved(const ChannelTerms& terms);

}  // namespace wam
