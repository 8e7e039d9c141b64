#pragma once

#include <cstdint>
#include <vector>

#include "models/wam/config.h"
#include "models/wam/recompute.h"

namespace wam {

// Floating-point operations (a multiply-add is two) of one sample's forward through the
// transformer: matrix products and attention as they are needed, that is with distinct timesteps
// embedded once and only keys and values for the clean and state tokens of the last block.
double forward_flops(const WamConfig& config, std::int64_t blocks);

// Of the same, what each unit does, in the order of wam_units: embeddings, blocks, head.
std::vector<double> unit_forward_flops(const WamConfig& config, std::int64_t blocks);

// The part of forward_flops that is attention: the products of queries with keys and of weights
// with values, in self and cross attention.
double attention_flops(const WamConfig& config, std::int64_t blocks);

// Forward and backward, twice the forward: what model TFLOP/s and MFU count. Recomputation is extra
// work for the same result and does not count.
double training_flops(const WamConfig& config, std::int64_t blocks);

// The products and attention that the backward of one sample does again under these policies.
// `norms` repeats none: see rebuilt_bytes.
double recompute_flops(const WamConfig& config,
                       std::int64_t blocks,
                       const RecomputePlan& recompute);

}  // namespace wam
