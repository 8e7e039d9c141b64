#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace wam {

enum class ChannelActivation : std::uint8_t { kNone, kSilu };

// What is normed: the sum of those that are given.
struct ChannelTerms {
  at::Tensor x_BCTHW;
  at::Tensor bias;        // (1, C, 1, 1, 1) in the accumulate type; undefined: none
  at::Tensor skip_BCTHW;  // undefined: none

  [[nodiscard]] bool is_sum() const { return bias.defined() || skip_BCTHW.defined(); }
};

// sum = x + bias + skip, normed = act(sum / max(|sum|, 1e-12) * sqrt(C) * gamma), |sum| over the
// channels of a position. Each goes where the caller wants it, so that a buffer padded in time or
// in space is filled without a copy.
//
// Source: RMS_norm, Wan2.1 wan/modules/vae.py @ 9737cba.
// Shape:  all (B, C, T, H, W), gamma (1, C, 1, 1, 1); sum_out may be x or skip itself. normed_out
// may
//         have n * C channels, which then hold the n frames up to each one side by side, the latest
//         last; places of frames before the first are left alone.
// Types:  evaluated in the accumulate type; sum and normed round once each, and normed is that of
//         the rounded sum.
// Kernel: bf16 and fp32 on a GPU, C a multiple of 8 and at most 1280, x and skip dense and channels
//         last, the outputs with C innermost. One read of x and skip and one write of each output:
//         for bf16 (1 + skip + sum + n) * 2 bytes an element. Other widths take the plain form:
//         those of the published VAEs are multiples of 32.
// Stream: ordered on the current one.
void channel_norm(const ChannelTerms& terms,
                  const at::Tensor& gamma,
                  ChannelActivation activation,
                  const at::Tensor& normed_out_BCTHW);
void channel_sum(const ChannelTerms& terms, const at::Tensor& sum_out_BCTHW);
// Both in one pass.
void channel_sum_norm(const ChannelTerms& terms,
                      const at::Tensor& gamma,
                      ChannelActivation activation,
                      const at::Tensor& sum_out_BCTHW,
                      const at::Tensor& normed_out_BCTHW);

// Writes the frames of x (B, C, T, H, W) into out (B, n * C, T, H, W) as channel_norm does. n = 1
// is a copy.
void frames_side_by_side(const at::Tensor& x_BCTHW, const at::Tensor& out_BCTHW);

}  // namespace wam
