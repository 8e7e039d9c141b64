#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <c10/core/ScalarType.h>

#include "models/wam/block.h"
#include "models/wam/config.h"

namespace wam {

// The shape of one micro-batch.
struct MicroBatchShape {
  std::int64_t samples = 1;
  std::int64_t blocks = 4;       // of latent frames
  std::int64_t text_rows = 512;  // rows that the batch brings
  c10::ScalarType compute_type = c10::kBFloat16;
};

// One line of the table: a tensor that a block keeps between forward and backward.
struct KeptTensor {
  std::string name;
  std::int64_t bytes = 0;
};

// Everything that block_backward reads beside the block's input, largest shape (not the last
// block).
std::vector<KeptTensor> block_tensors_kept(const WamConfig& config, const MicroBatchShape& shape);

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
                              RecomputePolicy policy);

// Parameters, exact.
std::int64_t parameter_count(const std::vector<UnitSpec>& units);

}  // namespace wam
