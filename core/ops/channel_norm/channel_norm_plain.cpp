#include "core/ops/channel_norm/channel_norm_plain.h"

#include <algorithm>
#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/ops/add.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/silu.h>

#include "core/ops/parameter.h"

namespace wam {
namespace {

// |x| over channels, (B, 1, T, H, W), in accumulate_type of x.
at::Tensor channel_length(const at::Tensor& x_BCTHW) {
  const at::ScalarType wide = accumulate_type(x_BCTHW.scalar_type());
  if (x_BCTHW.is_cpu()) {
    // The norm kernel for CPUs is twenty times slower over a strided dimension than this.
    const at::Tensor x = x_BCTHW.to(wide);
    return (x * x).sum(1, /*keepdim=*/true).sqrt_();
  }
  return at::linalg_vector_norm(x_BCTHW, 2, {1}, /*keepdim=*/true, wide);
}

}  // namespace

void channel_sum_plain(const ChannelTerms& terms, const at::Tensor& sum_out_BCTHW) {
  at::Tensor out = sum_out_BCTHW;
  if (!terms.is_sum()) {
    out.copy_(terms.x_BCTHW);
  } else if (!terms.skip_BCTHW.defined()) {
    at::add_out(out, terms.x_BCTHW, terms.bias);
  } else if (!terms.bias.defined()) {
    at::add_out(out, terms.x_BCTHW, terms.skip_BCTHW);
  } else {
    const at::Tensor wide = terms.x_BCTHW.to(accumulate_type(terms.x_BCTHW.scalar_type()));
    out.copy_((wide + terms.bias).add_(terms.skip_BCTHW));
  }
}

void channel_norm_plain(const at::Tensor& x_BCTHW,
                        const at::Tensor& gamma,
                        ChannelActivation activation,
                        const at::Tensor& normed_out_BCTHW) {
  const double root = std::sqrt(static_cast<double>(x_BCTHW.size(1)));
  const at::Tensor scale_B1THW = channel_length(x_BCTHW).clamp_min_(1e-12).reciprocal_().mul_(root);
  at::Tensor normed = at::mul(x_BCTHW, scale_B1THW).mul_(gamma);
  at::Tensor out = normed_out_BCTHW;
  if (activation == ChannelActivation::kSilu) {
    if (normed.sizes() == out.sizes() && normed.scalar_type() == out.scalar_type()) {
      at::silu_out(out, normed);
      return;
    }
    at::silu_(normed);
  }
  frames_side_by_side(normed, out);
}

void frames_side_by_side(const at::Tensor& x_BCTHW, const at::Tensor& out_BCTHW) {
  const std::int64_t channels = x_BCTHW.size(1);
  const std::int64_t frames = x_BCTHW.size(2);
  const std::int64_t places = out_BCTHW.size(1) / channels;
  for (std::int64_t later = 0; later < std::min(places, frames); ++later) {
    out_BCTHW.narrow(1, (places - 1 - later) * channels, channels)
        .narrow(2, later, frames - later)
        .copy_(x_BCTHW.narrow(2, 0, frames - later));
  }
}

}  // namespace wam
