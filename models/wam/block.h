#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/base/names.h"
#include "core/ops/attention/attention.h"
#include "core/ops/layer_norm/layer_norm.h"
#include "core/ops/token_rows/token_rows.h"
#include "models/wam/attention_plan.h"
#include "models/wam/parameters.h"

namespace wam {

// What a block keeps for its backward beside its input (D5).
//   none  everything that backward reads
//   full  nothing: backward runs the forward again
enum class RecomputePolicy { kNone, kFull };

template <>
struct EnumNames<RecomputePolicy> {
  static constexpr std::array table{std::pair{RecomputePolicy::kNone, "none"},
                                    std::pair{RecomputePolicy::kFull, "full"}};
};

// Everything about a block's sequence that is not a parameter or an activation; shared by the
// blocks of a forward. The last block computes only what is read after it: its clean and state
// tokens are keys and values, and nothing else.
struct BlockPlan {
  TokenRange results;  // the tokens that come out, of those that go in
  TokenRange queries;  // those of `results` that query: all but the states
  TokenRange states;   // attention output = their own v; empty where they do not come out
  TokenRows input_rows;
  TokenRows result_rows;
  std::vector<AttentionCall> calls;
  at::Tensor rotary;           // (L, K/2, 2), accumulate type
  at::Tensor text_key_bias_M;  // undefined without shortened text
  std::int64_t heads = 1;
  double eps = 1e-6;
  AttentionEngine* attention = nullptr;  // null: the plain form
};

// B batch · L token · D width · N head · K head width · R row of the timestep table · M context
// token
struct BlockInput {
  at::Tensor x_BLD;
  at::Tensor time_BRGD;  // (B, R, 6, D): projection of every distinct timestep
  at::Tensor text_BMD;
  at::Tensor image_BMD;
};

// Keys and values of one context.
struct ContextSaved {
  at::Tensor k_in, rstd, k, v;  // before and after the key norm
  at::Tensor out, lse;
};

// Every intermediate value that the backward reads, in the order of the forward.
struct BlockSaved {
  // self attention
  NormStatistics norm1;
  at::Tensor u1;                          // (B, L, D)
  at::Tensor q_in, k_in, q_rstd, k_rstd;  // before q/k norm
  at::Tensor q, k, v;                     // (B, L, N, K)
  at::Tensor attention;                   // (B, L, D)
  std::vector<at::Tensor> lse;            // one a call
  at::Tensor y1;                          // after o, before the gate
  at::Tensor x1;
  // cross attention
  NormStatistics norm3;
  at::Tensor u2, cross_q_in, cross_q_rstd, cross_q;
  ContextSaved text, image;
  at::Tensor cross;  // sum of both attentions
  at::Tensor x2;
  // feed-forward
  NormStatistics norm2;
  at::Tensor u3, h, g;  // h before, g after GELU
  at::Tensor y3;

  // All tensors above, for accounting.
  [[nodiscard]] std::vector<at::Tensor> tensors() const;
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

// What of `saved` a policy keeps, and how it comes back before the backward.
BlockSaved keep(RecomputePolicy policy, BlockSaved saved);
BlockSaved rebuild(RecomputePolicy policy,
                   BlockSaved kept,
                   const BlockParameters& p,
                   const BlockPlan& plan,
                   const BlockInput& in);

}  // namespace wam
