#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/ops/attention/attention.h"
#include "models/wam/layout.h"

namespace wam {

// One call of attention: these tokens see exactly those tokens.
struct AttentionCall {
  TokenRange queries;
  std::vector<TokenRange> keys;
};

// Who sees whom in training (teacher forcing), as attention calls in token order:
//
//   clean frame 0   clean frame 0
//   clean block i   clean frame 0 and the clean blocks up to and including i, of these the last
//                   `window_frames` frames
//   noisy frame 0   itself
//   noisy block i   clean frame 0, clean blocks 0 .. i-1 (no window), itself, its actions, its
//   state actions i       the same as noisy block i: one call for both state i         itself
//   alone: its attention output is its own v, no call
//
// Source: DreamZero wan_video_dit_action_casual_chunk.py @ ab790c1, _forward_train.
// Only the calls whose queries lie in `queries` are listed.
std::vector<AttentionCall> attention_plan(const TokenLayout& layout,
                                          std::int64_t window_frames,
                                          const TokenRange& queries);

// Runs the calls of a plan. q holds the tokens from `first_query` on, (B, Lq, N, K); k and v those
// of the whole sequence. Writes out (like q) and returns one log-sum-exp a call.
std::vector<at::Tensor> group_attention_forward(const std::vector<AttentionCall>& calls,
                                                const AttentionOptions& options,
                                                std::int64_t first_query,
                                                const at::Tensor& q_BLNK,
                                                const at::Tensor& k_BLNK,
                                                const at::Tensor& v_BLNK,
                                                const at::Tensor& out_BLNK);

struct GroupAttentionGradients {
  at::Tensor dq_BLNK;  // in the type of q
  at::Tensor dk_BLNK;  // in the accumulate type: keys are shared by several calls
  at::Tensor dv_BLNK;
};

GroupAttentionGradients group_attention_backward(const std::vector<AttentionCall>& calls,
                                                 const AttentionOptions& options,
                                                 std::int64_t first_query,
                                                 const at::Tensor& dout_BLNK,
                                                 const at::Tensor& q_BLNK,
                                                 const at::Tensor& k_BLNK,
                                                 const at::Tensor& v_BLNK,
                                                 const at::Tensor& out_BLNK,
                                                 const std::vector<at::Tensor>& lse);

}  // namespace wam
