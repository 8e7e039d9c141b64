#include "core/ops/layer_norm/layer_norm_plain.h"

#include <array>

#include <ATen/TensorOperators.h>
#include <ATen/ops/native_layer_norm.h>
#include <ATen/ops/native_layer_norm_backward.h>

namespace wam {
namespace {

at::Tensor wide(const at::Tensor& x) {
  return x.to(accumulate_type(x.scalar_type()));
}

}  // namespace

at::Tensor normalise(const at::Tensor& x_BLD, double eps, NormStatistics& statistics) {
  auto [y, mean, rstd] = at::native_layer_norm(wide(x_BLD), {x_BLD.size(-1)}, {}, {}, eps);
  statistics = {mean, rstd};
  return y;
}

at::Tensor normalised(const at::Tensor& x_BLD, const NormStatistics& statistics) {
  return (wide(x_BLD) - statistics.mean) * statistics.rstd;
}

at::Tensor normalise_backward(const at::Tensor& dnormalised,
                              const at::Tensor& x_BLD,
                              const NormStatistics& statistics,
                              const at::Tensor& residual_BLD) {
  const auto [dx, no_weight, no_bias] = at::native_layer_norm_backward(
      dnormalised, wide(x_BLD), {x_BLD.size(-1)}, statistics.mean, statistics.rstd, {}, {},
      std::array<bool, 3>{true, false, false});
  const at::Tensor sum = residual_BLD.defined() ? dx + residual_BLD : dx;
  return sum.to(x_BLD.scalar_type());
}

at::Tensor layer_norm_forward_plain(const at::Tensor& x_BLD,
                                    const LayerNorm& norm,
                                    double eps,
                                    NormStatistics& statistics) {
  const at::Tensor y = normalise(x_BLD, eps, statistics);
  return (y * wide(norm.weight.value) + wide(norm.bias.value)).to(x_BLD.scalar_type());
}

at::Tensor layer_norm_backward_plain(const at::Tensor& dy_BLD,
                                     const at::Tensor& x_BLD,
                                     const LayerNorm& norm,
                                     const NormStatistics& statistics,
                                     const at::Tensor& residual_BLD) {
  const at::Tensor dy = wide(dy_BLD);
  if (norm.weight.gradient.defined()) {
    at::Tensor gradient = norm.weight.gradient;
    gradient.add_((dy * normalised(x_BLD, statistics)).sum(at::IntArrayRef{0, 1}));
  }
  if (norm.bias.gradient.defined()) {
    at::Tensor gradient = norm.bias.gradient;
    gradient.add_(dy.sum(at::IntArrayRef{0, 1}));
  }
  return normalise_backward(dy * wide(norm.weight.value), x_BLD, statistics, residual_BLD);
}

}  // namespace wam
