#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace wam {

enum class ChannelActivation : std::uint8_t { kNone, kSilu };

// What is normed: the sum of those that are given. bias and gamma are (1, C, 1, 1, 1).
struct ChannelTerms {
  at::Tensor x_BCTHW;
  at::Tensor bias;        // undefined: none
  at::Tensor skip_BCTHW;  // undefined: none

  [[nodiscard]] bool is_sum() const { return bias.defined() || skip_BCTHW.defined(); }
};

// sum = x + bias + skip, normed = act(sum / max(|sum|, 1e-12) * sqrt(C) * gamma), |sum| over the
// channels of a position. Each goes where the caller wants it, so that a buffer padded in time or
// in space is filled without a copy.
//
// Source: RMS_norm, Wan2.1 wan/modules/vae.py @ 9737cba.
// Shape:  all (B, C, T, H, W); sum_out may be x or skip itself.
// Types:  evaluated in the accumulate type; sum and normed round once each, and normed is that of
//         the rounded sum.
// Kernel: bf16 and fp32 on a GPU, C a multiple of 8 and at most 1280, x and skip dense and channels
//         last, the outputs with C innermost. One read of x and skip and one write of each output:
//         for bf16 (1 + skip + sum + normed) * 2 bytes an element. Other widths take the plain
//         form: those of the published VAEs are multiples of 32.
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

}  // namespace wam
