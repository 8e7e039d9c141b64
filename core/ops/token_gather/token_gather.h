#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace wam {

// Rows of a sequence copied side by side, and the sum of what belongs to the same row again: how
// attention calls with keys from several places get them, and give their gradients back.
//
// Slot t holds token `token_T[t]`; a token may stand in several slots or in none.
struct TokenSlots {
  at::Tensor token_T;  // int32
  at::Tensor
      first_L1;       // int32 (tokens + 1): the slots of token l are slot_T[first_L1[l] .. [l + 1])
  at::Tensor slot_T;  // int32, rising for each token

  [[nodiscard]] std::int64_t slots() const { return token_T.size(0); }
  [[nodiscard]] std::int64_t tokens() const { return first_L1.size(0) - 1; }
};
TokenSlots token_slots(const std::vector<std::int64_t>& token_of_slot,
                       std::int64_t tokens,
                       at::Device device);

// out[b, t] = x[b, token_T[t]].
// Shape: x (B, L, N, K) with (N, K) contiguous, any other strides; out (B, T, N, K) contiguous.
// Moves 4 bytes an element in bf16.
at::Tensor gather_tokens(const at::Tensor& x_BLNK, const TokenSlots& slots);

// out[b, l] = sum over the slots of token l of y[b, slot]: in fp32 (fp64 for fp64), in rising order
// of the slots, rounded once to the type of `out`. Zero for a token without a slot.
// Shape: y (B, T, N, K) contiguous; out (B, L, N, K) with (N, K) contiguous, any other strides.
void sum_slots(const at::Tensor& y_BTNK, const TokenSlots& slots, const at::Tensor& out_BLNK);

}  // namespace wam
