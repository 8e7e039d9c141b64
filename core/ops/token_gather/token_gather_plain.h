#pragma once

#include "core/ops/token_gather/token_gather.h"

namespace wam {

// The definition of gather_tokens and sum_slots in plain LibTorch.
at::Tensor gather_tokens_plain(const at::Tensor& x_BLNK, const TokenSlots& slots);
void sum_slots_plain(const at::Tensor& y_BTNK, const TokenSlots& slots, const at::Tensor& out_BLNK);

}  // namespace wam
