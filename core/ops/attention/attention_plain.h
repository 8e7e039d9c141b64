#pragma once

#include "core/ops/attention/attention.h"

namespace wam {

// The definition of attention_forward and attention_backward in plain LibTorch, for any device and
// type. Scores exist for a few heads (or queries) at a time: at most kScoreElements of them.
inline constexpr std::int64_t kScoreElements = std::int64_t{1} << 26;

void attention_forward_plain(const at::Tensor& q_BLNK,
                             const at::Tensor& k_BMNK,
                             const at::Tensor& v_BMNK,
                             const AttentionOptions& options,
                             const at::Tensor& out_BLNK,
                             const at::Tensor& lse_BNL,
                             std::int64_t score_elements = kScoreElements);

void attention_backward_plain(const at::Tensor& dout_BLNK,
                              const at::Tensor& q_BLNK,
                              const at::Tensor& k_BMNK,
                              const at::Tensor& v_BMNK,
                              const at::Tensor& out_BLNK,
                              const at::Tensor& lse_BNL,
                              const AttentionOptions& options,
                              const AttentionGradients& gradients,
                              std::int64_t score_elements = kScoreElements);

}  // namespace wam
