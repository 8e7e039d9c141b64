#pragma once

#include <cstdint>
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

// The sizes of a block. The last one gives out fewer tokens than it takes in.
enum class BlockPlace { kInner, kLast };
BlockExtents block_extents(const WamConfig& config, const MicroBatchShape& shape, BlockPlace place);

struct BlockBytes {
  std::int64_t input = 0;     // the block's input tokens, kept under every policy
  std::int64_t kept = 0;      // what the policy keeps beside it
  std::int64_t rebuilt = 0;   // what backward builds again, for one block at a time
  std::int64_t backward = 0;  // gradients, gathered keys and workspace while its backward runs
};
BlockBytes block_bytes(const WamConfig& config,
                       const MicroBatchShape& shape,
                       RecomputePolicy policy,
                       BlockPlace place = BlockPlace::kInner);

// Activations of the whole transformer at their peak, which lies in the backward of one of the
// blocks: what all blocks before it keep, what is built again for it, and its gradients.
std::int64_t activation_bytes(const WamConfig& config,
                              const MicroBatchShape& shape,
                              const RecomputePlan& recompute);

// Tensors that the backward of a micro-batch builds again, over all blocks whose policy keeps a
// part: what memory-bound kernels write beside its own work. Blocks under `full` count as
// recompute_flops.
std::int64_t rebuilt_bytes(const WamConfig& config,
                           const MicroBatchShape& shape,
                           const RecomputePlan& recompute);

// Parameters, exact.
std::int64_t parameter_count(const std::vector<UnitSpec>& units);

}  // namespace wam
