#pragma once

#include <cstddef>
#include <memory>

#include "core/train/sharding.h"
#include "models/wam/block.h"
#include "models/wam/recompute.h"

namespace wam {

// Which block runs, and how. The node keeps this handle of its unit, never its weights.
struct BlockCall {
  std::int64_t block_idx = 0;
  std::size_t unit_idx = 0;
  RecomputePolicy policy = RecomputePolicy::kNone;
  std::shared_ptr<const BlockPlan> plan;
  Sharding* sharding = nullptr;  // must outlive the backward
};

// One block as one node of LibTorch's graph: acquires the unit around the forward and again around
// the backward, which adds to the unit's gradient and reports it complete.
// Without grad mode (or with no input that asks for it) nothing is kept.
at::Tensor run_block(const BlockCall& call, const BlockInput& input);

}  // namespace wam
