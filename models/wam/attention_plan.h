#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/ops/attention/attention.h"
#include "core/ops/token_gather/token_gather.h"
#include "models/wam/layout.h"

namespace wam {

// One call of attention: these tokens see exactly those tokens.
struct AttentionCall {
  TokenRange queries;
  std::vector<TokenRange> keys;
};

std::int64_t num_keys(const AttentionCall& call);

// Who sees whom in training (teacher forcing), as attention calls in token order:
//
// clang-format off
//   clean frame 0   clean frame 0
//   clean block i   clean frame 0 and the clean blocks up to and including i, of these the last
//                   `window_frames` frames
//   noisy frame 0   itself
//   noisy block i   clean frame 0, clean blocks 0 .. i-1 (no window), itself, its actions, its state
//   actions i       the same as noisy block i: one call for both
//   state i         itself alone: its attention output is its own v, no call
// clang-format on
//
// Source: DreamZero wan_video_dit_action_casual_chunk.py @ ab790c1, _forward_train.
// Only the calls whose queries lie in `queries` are listed.
std::vector<AttentionCall> attention_plan(const TokenLayout& layout,
                                          std::int64_t window_frames,
                                          const TokenRange& queries);

// The calls of a plan and the tables that bring their keys together. All of it is in the order of
// the calls: sequence i is call i, and its keys follow those of the calls before it.
struct GroupAttention {
  std::vector<AttentionCall> calls;
  TokenRange queries;   // of all calls: q holds these tokens
  TokenSlots keys;      // keys of all calls, call after call
  TokenSlots gathered;  // the same for the calls alone that have their keys in several ranges
  std::vector<AttentionSequence> sequences;  // the calls over q and `keys`

  [[nodiscard]] std::int64_t longest_queries() const;
  [[nodiscard]] std::int64_t longest_keys() const;
};
GroupAttention group_attention(const TokenLayout& layout,
                               std::int64_t window_frames,
                               const TokenRange& queries,
                               at::Device device);

// Backward of calls with more keys than this runs call by call: measured, see cudnn_attention.h.
inline constexpr std::int64_t kLongestKeysOfGroupBackward = 2048;

// Runs the calls, in one call of the engine where that is faster. q holds the tokens
// `group.queries`, (B, Lq, N, K); k and v those of the whole sequence, with any strides that keep a
// token together. Writes out (like q) and returns the log-sum-exp, (B, calls, N, longest queries).
at::Tensor group_attention_forward(const GroupAttention& group,
                                   const AttentionOptions& options,
                                   const at::Tensor& q_BLNK,
                                   const at::Tensor& k_BLNK,
                                   const at::Tensor& v_BLNK,
                                   const at::Tensor& out_BLNK);

// Writes `gradients`: a token's keys and values are shared by several calls, whose parts are summed
// in the accumulate type and rounded once.
void group_attention_backward(const GroupAttention& group,
                              const AttentionOptions& options,
                              const at::Tensor& dout_BLNK,
                              const at::Tensor& q_BLNK,
                              const at::Tensor& k_BLNK,
                              const at::Tensor& v_BLNK,
                              const at::Tensor& out_BLNK,
                              const at::Tensor& lse_BSNL,
                              const AttentionGradients& gradients);

}  // namespace wam
