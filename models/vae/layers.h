#pragma once

#include <string>

#include <ATen/core/Tensor.h>

#include "core/ops/channel_norm/channel_norm.h"
#include "models/vae/clip_memory.h"
#include "models/vae/conv.h"

namespace wam {

// B batch · C channel · T frame · H W row, column
//
// Between layers go sums that are not written down yet (ChannelTerms): the next layer adds them up
// in the pass in which it reads them. A sum's x belongs to the sum alone.

// Convolution with kernel 3: one ring of zeros in space, two frames before the first (zeros, or
// what the slot remembers), none after.
ChannelTerms causal_conv(const VaeContext& vae,
                         const std::string& prefix,
                         const at::Tensor& x_BCTHW,
                         ClipMemory& memory);
// The convolution that reads the video, 2 x 2 pixels as channels where `pixel` is 2
// (pixels_to_channels).
ChannelTerms input_conv(const VaeContext& vae,
                        const at::Tensor& video_BCTHW,
                        std::int64_t pixel,
                        ClipMemory& memory);
// A causal convolution of silu(x / max(|x|, 1e-12) * sqrt(C) * gamma), |x| over channels. Norm and
// SiLU are evaluated in fp32 where the weights are bf16, and rounded once.
ChannelTerms norm_silu_conv(const VaeContext& vae,
                            const std::string& gamma,
                            const std::string& prefix,
                            ChannelTerms x,
                            ClipMemory& memory);

// The same, and leaves x written down.
ChannelTerms norm_silu_conv_of_sum(const VaeContext& vae,
                                   const std::string& gamma,
                                   const std::string& prefix,
                                   ChannelTerms& x,
                                   ClipMemory& memory);

// Leaves x written down.
ChannelTerms residual_block(const VaeContext& vae,
                            const std::string& prefix,
                            ChannelTerms& x,
                            ClipMemory& memory);
// One head of width C over the positions of each frame. Leaves x written down.
ChannelTerms frame_attention(const VaeContext& vae, const std::string& prefix, ChannelTerms& x);

// Halves rows and columns: zeros at the right and the bottom, kernel 3, stride 2.
ChannelTerms down_space(const VaeContext& vae, const std::string& prefix, const ChannelTerms& x);
// Halves the frames after the first: kernel 3, stride 2, no padding; frame 0 passes as it is.
at::Tensor down_time(const VaeContext& vae,
                     const std::string& prefix,
                     const at::Tensor& x_BCTHW,
                     ClipMemory& memory);
// Mean of 2 x 2 positions, accumulated in fp32 for bf16.
at::Tensor pool_space(const at::Tensor& x_BCTHW);
// Pairs of frames to channels: out channel 2c + s = frame s of the pair. An odd number of frames,
// as a clip's first piece has, gets one zero frame in front.
at::Tensor frame_pairs_to_channels(const at::Tensor& x_BCTHW, at::MemoryFormat format);
// Doubles rows and columns: nearest, then kernel 3.
at::Tensor up_space(const VaeContext& vae, const std::string& prefix, const at::Tensor& x_BCTHW);
// Doubles the frames after the first, which they do not see: n -> 2n - 1. Whole clips only.
at::Tensor up_time(const VaeContext& vae, const std::string& prefix, const at::Tensor& x_BCTHW);

// 2 x 2 pixels to channels: out channel c*4 + r*2 + q = row parity q, column parity r. And back.
at::Tensor pixels_to_channels(const at::Tensor& x_BCTHW);
at::Tensor channels_to_pixels(const at::Tensor& x_BCTHW);

}  // namespace wam
