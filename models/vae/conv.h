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

// In place: every convolution weight as (out, in, t, h, w) in `format`, every gamma as
// (1, C, 1, 1, 1). On a GPU the input convolution's weight gets zeros for as many channels more as
// make a multiple of 8, which its tensor cores want.
void prepare_vae_weights(FrozenWeights& weights, at::MemoryFormat format);

using ConvExtent = std::array<std::int64_t, 3>;  // time, rows, columns

struct ConvShape {
  ConvExtent stride{1, 1, 1};
  ConvExtent padding{0, 0, 0};
};

// The convolution `prefix`. On a GPU its bias is not added yet: who reads the sum adds it on the
// way. x of the result belongs to the result alone.
// Deterministic: the algorithm is cuDNN's first choice for a shape, never one found by timing.
ChannelTerms conv_terms(const VaeContext& vae,
                        const std::string& prefix,
                        const at::Tensor& x_BCTHW,
                        const ConvShape& shape);
at::Tensor conv(const VaeContext& vae,
                const std::string& prefix,
                const at::Tensor& x_BCTHW,
                const ConvShape& shape);
// Convolution with kernel 1: on a GPU a matrix product over positions.
at::Tensor point_conv(const VaeContext& vae, const std::string& prefix, const at::Tensor& x_BCTHW);

// The sum written down, into x itself where there is more than x.
at::Tensor resolved(const ChannelTerms& terms);

}  // namespace wam
