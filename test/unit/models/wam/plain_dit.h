#pragma once

#include <map>
#include <string>

#include "models/wam/embeddings.h"
#include "models/wam/head.h"

namespace wam::test {

// A second formulation of the training forward, for comparison only: the token order of the
// reference [clean | noisy | actions | states], a dense L x L mask, timesteps expanded to tokens,
// text padded to its full length, every block computed in full, everything ordinary autograd.
// Weights by name.
DitOutput plain_dit(const DitInput& in,
                    const WamConfig& config,
                    const std::map<std::string, at::Tensor>& weights);

// (L, L) bool: who sees whom, in the order above.
at::Tensor plain_mask(std::int64_t blocks,
                      std::int64_t frame_tokens,
                      std::int64_t actions_per_block,
                      std::int64_t window_frames);

}  // namespace wam::test
