#include "models/wam/loss.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros_like.h>

#include "core/ops/parameter.h"

namespace wam {
namespace {

at::Tensor video_loss(const at::Tensor& prediction_BCFYX, const Mixed& mixed) {
  const auto wide = mixed.target_BCFYX.scalar_type();
  const at::Tensor target = mixed.target_BCFYX.narrow(3, 0, prediction_BCFYX.size(3))
                                .narrow(4, 0, prediction_BCFYX.size(4));
  const at::Tensor error_BF =
      (prediction_BCFYX.to(wide) - target).square().mean(at::IntArrayRef{1, 3, 4});
  return (error_BF * mixed.video_weight_BF).mean(at::IntArrayRef{1}).sum();
}

at::Tensor action_loss(const at::Tensor& prediction_BPA,
                       const Mixed& mixed,
                       const at::Tensor& action_mask_BPA,
                       const at::Tensor& has_real_action_B) {
  const auto wide = mixed.target_BPA.scalar_type();
  const at::Tensor gate = has_real_action_B.to(wide).view({-1, 1, 1});
  const at::Tensor error_BPA =
      (prediction_BPA.to(wide) - mixed.target_BPA).square() * action_mask_BPA.to(wide) * gate;
  const at::Tensor error_BP = error_BPA.mean(at::IntArrayRef{2});
  return (error_BP * mixed.action_weight_BP).mean(at::IntArrayRef{1}).sum();
}

}  // namespace

Losses flow_losses(const DitOutput& output,
                   const Mixed& mixed,
                   const at::Tensor& action_mask_BPA,
                   const at::Tensor& has_real_action_B) {
  Losses losses;
  losses.video = video_loss(output.video_BCFYX, mixed);
  losses.action = output.action_BPA.defined()
                      ? action_loss(output.action_BPA, mixed, action_mask_BPA, has_real_action_B)
                      : at::zeros_like(losses.video);
  losses.loss = losses.video + losses.action;
  return losses;
}

}  // namespace wam
