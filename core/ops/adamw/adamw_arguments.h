#pragma once

#include <cstdint>

#include "core/cuda/kernel.h"
#include "core/ops/adamw/adamw_decision.h"

namespace wam {

// adamw_update with fp32 state, without Torch: of the kernel, and of the vector code for host
// memory, where everything is on the host.
struct AdamWUpdateArguments {
  float* master;
  float* exp_avg;
  float* exp_avg_sq;
  float* gradient;
  void* compute;  // null: not wanted
  Element compute_type;
  const std::uint8_t* decay_bits;  // as make_decay_bits lays them out
  std::int64_t numel;              // of each array: a multiple of 64
  const AdamWDecision* decision;
  float beta1, beta2, epsilon;
  bool zero_gradient;
};

}  // namespace wam
