#include "core/ops/channel_norm/channel_norm.h"

#include <ATen/ops/empty_like.h>

#include "core/cuda/tensor_kernel.h"
#include "core/ops/channel_norm/channel_norm_kernel.h"
#include "core/ops/channel_norm/channel_norm_launch.h"
#include "core/ops/channel_norm/channel_norm_plain.h"

namespace wam {
namespace {

bool kernel_serves(const at::Tensor& x_BCTHW) {
  return runs_kernel(x_BCTHW) && x_BCTHW.size(1) % kVectorElements == 0 &&
         x_BCTHW.size(1) <= kMaxChannels;
}

}  // namespace

void channel_norm(const ChannelTerms& terms,
                  const at::Tensor& gamma,
                  ChannelActivation activation,
                  const at::Tensor& normed_out_BCTHW) {
  if constexpr (kBuiltForCuda) {
    if (kernel_serves(terms.x_BCTHW)) {
      return channel_norm_cuda(terms, gamma, activation, {}, normed_out_BCTHW);
    }
  }
  if (!terms.is_sum()) {
    return channel_norm_plain(terms.x_BCTHW, gamma, activation, normed_out_BCTHW);
  }
  const at::Tensor sum_BCTHW = at::empty_like(terms.x_BCTHW);
  channel_sum_plain(terms, sum_BCTHW);
  channel_norm_plain(sum_BCTHW, gamma, activation, normed_out_BCTHW);
}

void channel_sum(const ChannelTerms& terms, const at::Tensor& sum_out_BCTHW) {
  if constexpr (kBuiltForCuda) {
    if (kernel_serves(terms.x_BCTHW)) {
      return channel_norm_cuda(terms, {}, ChannelActivation::kNone, sum_out_BCTHW, {});
    }
  }
  channel_sum_plain(terms, sum_out_BCTHW);
}

void channel_sum_norm(const ChannelTerms& terms,
                      const at::Tensor& gamma,
                      ChannelActivation activation,
                      const at::Tensor& sum_out_BCTHW,
                      const at::Tensor& normed_out_BCTHW) {
  if constexpr (kBuiltForCuda) {
    if (kernel_serves(terms.x_BCTHW)) {
      return channel_norm_cuda(terms, gamma, activation, sum_out_BCTHW, normed_out_BCTHW);
    }
  }
  channel_sum_plain(terms, sum_out_BCTHW);
  channel_norm_plain(sum_out_BCTHW, gamma, activation, normed_out_BCTHW);
}

}  // namespace wam
