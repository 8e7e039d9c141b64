#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <c10/core/ScalarType.h>

#include "core/train/unit.h"
#include "models/wam/block_saved.h"
#include "models/wam/config.h"

namespace wam {

// The shape of one micro-batch.
struct MicroBatchShape {
  std::int64_t samples = 1;
  std::int64_t blocks = 4;       // of latent frames
  std::int64_t text_rows = 512;  // rows that the batch brings
  c10::ScalarType compute_type = c10::kBFloat16;
};

// The sizes of a block whose tokens all come out (not the last one).
BlockExtents block_extents(const WamConfig& config, const MicroBatchShape& shape);

struct BlockBytes {
  std::int64_t input = 0;    // the block's input tokens, kept under every policy
  std::int64_t kept = 0;     // what the policy keeps beside it
  std::int64_t rebuilt = 0;  // what backward builds again, for one block at a time
};
BlockBytes block_bytes(const WamConfig& config,
                       const MicroBatchShape& shape,
                       RecomputePolicy policy);

// Activations of the whole transformer at their peak: inputs and kept tensors of all blocks, and
// what is rebuilt for one of them.
std::int64_t activation_bytes(const WamConfig& config,
                              const MicroBatchShape& shape,
                              const RecomputePlan& recompute);

// Parameters, exact.
std::int64_t parameter_count(const std::vector<UnitSpec>& units);

}  // namespace wam
