#include "core/ops/ada_norm/ada_norm_plain.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/addcmul.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include "core/ops/layer_norm/layer_norm_plain.h"

namespace wam {

at::Tensor ada_norm_forward_plain(const at::Tensor& x_BLD,
                                  const Modulation& modulation,
                                  const TokenRows& rows,
                                  double eps,
                                  NormStatistics& statistics) {
  const at::Tensor normal = normalise(x_BLD, eps, statistics);
  const auto wide = normal.scalar_type();
  const at::Tensor one_plus_scale = (modulation.scale_BRD + 1).to(wide);
  const at::Tensor shift = modulation.shift_BRD.to(wide);
  at::Tensor y_BLD = at::empty(x_BLD.sizes(), x_BLD.options());
  for (const TokenGroup& group : rows.groups) {
    group_tokens(y_BLD, group)
        .copy_(at::addcmul(group_rows(shift, group), group_tokens(normal, group),
                           group_rows(one_plus_scale, group)));
  }
  return y_BLD;
}

at::Tensor ada_norm_backward_plain(const at::Tensor& dy_BLD,
                                   const at::Tensor& x_BLD,
                                   const Modulation& modulation,
                                   const TokenRows& rows,
                                   const NormStatistics& statistics,
                                   const Modulation& dmodulation,
                                   const at::Tensor& residual_BLD) {
  const at::Tensor normal = normalised(x_BLD, statistics);
  const auto wide = normal.scalar_type();
  const at::Tensor one_plus_scale = (modulation.scale_BRD + 1).to(wide);
  at::Tensor dnormal = at::empty_like(normal);
  for (const TokenGroup& group : rows.groups) {
    const at::Tensor dy = group_tokens(dy_BLD, group).to(wide);
    add_to_group_rows(dmodulation.shift_BRD, group, dy);
    add_to_group_rows(dmodulation.scale_BRD, group, dy * group_tokens(normal, group));
    group_tokens(dnormal, group).copy_(dy * group_rows(one_plus_scale, group));
  }
  return normalise_backward(dnormal, x_BLD, statistics, residual_BLD);
}

}  // namespace wam
