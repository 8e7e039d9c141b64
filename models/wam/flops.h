#pragma once

#include <cstdint>

#include "models/wam/config.h"

namespace wam {

// Floating-point operations (a multiply-add is two) of one sample's forward through the
// transformer: matrix products and attention as they are needed, that is with distinct timesteps
// embedded once and only keys and values for the clean and state tokens of the last block.
double forward_flops(const WamConfig& config, std::int64_t blocks);

// The part of forward_flops that is attention: the products of queries with keys and of weights
// with values, in self and cross attention.
double attention_flops(const WamConfig& config, std::int64_t blocks);

// Forward and backward, twice the forward: what model TFLOP/s and MFU count. Recomputation is extra
// work for the same result and does not count.
double training_flops(const WamConfig& config, std::int64_t blocks);

}  // namespace wam
