#pragma once

#include "core/ops/channel_norm/channel_norm.h"

namespace wam {

// The kernel on tensors; an undefined gamma: no norm, an undefined output: not wanted.
// Errors: InvariantError for layouts that it cannot read.
void channel_norm_cuda(const ChannelTerms& terms,
                       const at::Tensor& gamma,
                       ChannelActivation activation,
                       const at::Tensor& sum_out_BCTHW,
                       const at::Tensor& normed_out_BCTHW);

}  // namespace wam
