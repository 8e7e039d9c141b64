#pragma once

#include <ATen/core/Tensor.h>

#include "models/wam/config.h"
#include "models/wam/layout.h"
#include "models/wam/leaves.h"

namespace wam {

// B batch · C channel · F Y X latent frame, row, column · L token · D width · R row of the timestep
// table · M context token · P action · A action value · N block · S state value

// What the transformer computes from. Float tensors in the compute type but for timesteps.
struct DitInput {
  at::Tensor noisy_BCFYX;
  at::Tensor clean_BCFYX;
  at::Tensor condition_BCFYX;  // mask (4) and latent of the first frame; i2v only
  at::Tensor
      video_timestep_BR;  // (B, 1 + N) of frame 0 and of each block, 0 to 1000, any float type
  at::Tensor action_timestep_BP;  // of each action, or undefined: the timestep of its block
  at::Tensor text_BMD;            // M <= text_length rows; the rows past M are zero
  at::Tensor clip_BMD;
  at::Tensor state_BNS;   // undefined without actions
  at::Tensor action_BPA;  // undefined: video only
};

// Tokens and tables that the blocks read.
struct Embedded {
  at::Tensor token_BLD;
  at::Tensor time_BRD;   // time embedding e of every distinct timestep: the head's
  at::Tensor time_BRGD;  // (B, R, 6, D): its projection e0, the blocks'
  at::Tensor text_BMD;   // one more row than the input where text was shortened
  at::Tensor image_BMD;
};

Embedded embed(const DitInput& in,
               const TokenLayout& layout,
               const WamConfig& config,
               const Leaves& weights);

// cos and sin of a timestep, evaluated in double: (..., width).
// cos first with frequencies 10000^(-j / (width/2)) (time embedding of Wan), or sin first (action
// encoder of DreamZero); j = 0 .. width/2 - 1.
enum class SinusoidOrder { kCosSin, kSinCos };
at::Tensor sinusoid(const at::Tensor& timestep, std::int64_t width, SinusoidOrder order);

}  // namespace wam
