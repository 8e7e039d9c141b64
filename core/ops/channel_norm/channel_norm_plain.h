#pragma once

#include "core/ops/channel_norm/channel_norm.h"

namespace wam {

// The plain forms: any device, type and strides.
void channel_sum_plain(const ChannelTerms& terms, const at::Tensor& sum_out_BCTHW);
void channel_norm_plain(const at::Tensor& x_BCTHW,
                        const at::Tensor& gamma,
                        ChannelActivation activation,
                        const at::Tensor& normed_out_BCTHW);

}  // namespace wam
