#pragma once

namespace wam {

// What adamw_decide fixes for all shards of one step; in memory this is AdamWControl::decision.
// Computed in float64 from float32 betas, rounded once.
struct alignas(16) AdamWDecision {
  float gradient_scale;         // gradients are divided by it: at least 1
  float skipped;                // 1: nothing is applied
  float update;                 // n, the number of this update
  float decay;                  // learning rate * weight decay
  float step_size;              // learning rate / (1 - beta1^n)
  float bias_correction2_sqrt;  // sqrt(1 - beta2^n)
};

}  // namespace wam
