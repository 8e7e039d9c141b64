#pragma once

#include <cstdint>
#include <map>

#include "apps/wamtrain/bench/timeline.h"
#include "models/wam/config.h"
#include "models/wam/memory.h"
#include "models/wam/recompute.h"

namespace wam {

// What one forward and backward of a micro-batch has to do, whatever carries it out.
struct ModelWork {
  // Floating-point operations, forward and twice that for backward. For the 5b and 14b presets as
  // they stand, with text at full length, a fixed number a sample: 29.4 and 1,374 TFLOP (design of
  // the benchmarks; models/wam/flops.h counts within 2 % of it).
  double flops = 0;
  bool is_fixed = false;
  double attention_flops = 0;  // the part that is attention, as models/wam/flops.h counts
  // Bytes that the memory-bound kernels of the blocks must move: each tensor read or written once a
  // kernel. Recomputation is counted as the policy asks for it.
  std::map<KernelClass, double> bytes;
};

ModelWork model_work(const WamConfig& config,
                     const MicroBatchShape& shape,
                     const RecomputePlan& recompute);

}  // namespace wam
