#pragma once

#include <ATen/core/Tensor.h>

#include "models/wam/config.h"
#include "models/wam/layout.h"
#include "models/wam/leaves.h"

namespace wam {

// Velocities (noise minus clean), in the compute type.
struct DitOutput {
  at::Tensor video_BCFYX;  // (B, C, F, 2 rows, 2 columns): an odd latent row or column is missing
  at::Tensor action_BPA;   // undefined: video only
};

// From the tokens TokenLayout::results after the last block.
// Video: LN(x) * (1 + scale) + shift with the time embedding e itself (not its projection), then a
// linear map whose features are (row, column, channel) of a 2x2 patch.
DitOutput head(const at::Tensor& token_BLD,
               const at::Tensor& time_BRD,
               const TokenLayout& layout,
               const WamConfig& config,
               const Leaves& weights);

}  // namespace wam
