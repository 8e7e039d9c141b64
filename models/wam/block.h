#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/ops/attention/attention.h"
#include "core/ops/token_rows/token_rows.h"
#include "models/wam/attention_plan.h"
#include "models/wam/block_saved.h"
#include "models/wam/parameters.h"

namespace wam {

// Everything about a block's sequence that is not a parameter or an activation; shared by the
// blocks of a forward. The last block computes only what is read after it: its clean and state
// tokens are keys and values, and nothing else.
struct BlockPlan {
  TokenRange results;  // the tokens that come out, of those that go in
  TokenRange queries;  // those of `results` that query: all but the states
  TokenRange states;   // attention output = their own v; empty where they do not come out
  TokenRows input_rows;
  TokenRows result_rows;
  GroupAttention attention_calls;
  at::Tensor rotary;           // (L, K/2, 2), accumulate type
  at::Tensor text_key_bias_M;  // undefined without shortened text
  std::int64_t heads = 1;
  double eps = 1e-6;
  AttentionEngine* engine = nullptr;  // of attention; null: the plain form

  // One product for q, k and v; else (in the last block) q is a product of fewer tokens.
  [[nodiscard]] bool joint_queries() const { return results.count == input_rows.tokens; }
};

// B batch · L token · D width · N head · K head width · R row of the timestep table · M context
// token
struct BlockInput {
  at::Tensor x_BLD;
  at::Tensor time_BRGD;  // (B, R, 6, D): projection of every distinct timestep
  at::Tensor text_BMD;
  at::Tensor image_BMD;
};

// Returns the tokens plan.results after the block, and fills `saved`.
at::Tensor block_forward(const BlockParameters& p,
                         const BlockPlan& plan,
                         const BlockInput& in,
                         BlockSaved& saved);

// Gradients of the block's inputs; those of parameters are added to BlockParameters' gradients.
BlockInput block_backward(const BlockParameters& p,
                          const BlockPlan& plan,
                          const BlockInput& in,
                          const BlockSaved& saved,
                          const at::Tensor& dout_BLD);

// Computes again what a policy dropped: everything that block_backward reads is there afterwards,
// with the bits that it had.
void block_rebuild(const BlockParameters& p,
                   const BlockPlan& plan,
                   const BlockInput& in,
                   BlockSaved& saved);

}  // namespace wam
