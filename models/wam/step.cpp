#include "models/wam/step.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>
#include <torch/csrc/autograd/autograd.h>

#include "core/ops/parameter.h"
#include "models/wam/loss.h"

namespace wam {
namespace {

Losses detached(const Losses& losses) {
  return {losses.loss.detach(), losses.video.detach(), losses.action.detach()};
}

}  // namespace

DitInput dit_input(const EncodedBatch& batch, const Mixed& mixed, at::ScalarType compute_type) {
  DitInput in;
  in.noisy_BCFYX = mixed.noisy_BCFYX.to(compute_type);
  in.clean_BCFYX = batch.latent_BCFYX.to(compute_type);
  in.condition_BCFYX = batch.condition_BCFYX;
  in.video_timestep_BR = mixed.video_timestep_BR;
  in.text_BMD = batch.text_BMD;
  in.clip_BMD = batch.clip_BMD;
  if (mixed.noisy_BPA.defined()) {
    in.state_BNS = batch.state_BNS;
    in.action_BPA = mixed.noisy_BPA.to(compute_type);
    in.action_timestep_BP = mixed.action_timestep_BP;
  }
  return in;
}

at::Tensor loss_weight(double weight, const at::Tensor& x) {
  return at::full({}, weight, x.options().dtype(accumulate_type(x.scalar_type())));
}

Losses training_step(Dit& dit,
                     const EncodedBatch& batch,
                     const Draws& draws,
                     const FlowSchedule& schedule,
                     Sharding& sharding,
                     const at::Tensor& weight) {
  const at::AutoGradMode grad_mode(true);
  const Mixed mixed = mix(batch.latent_BCFYX, batch.action_BPA, draws, schedule);
  const auto forward = dit.forward(dit_input(batch, mixed, batch.text_BMD.scalar_type()), sharding,
                                   Leaves::Track::kYes);
  const Losses losses =
      flow_losses(forward->output, mixed, batch.action_mask_BPA, batch.has_real_action_B);
  forward->begin_backward();
  torch::autograd::backward({losses.loss * weight});
  forward->end_backward();
  return detached(losses);
}

Losses evaluation_step(Dit& dit,
                       const EncodedBatch& batch,
                       const Draws& draws,
                       const FlowSchedule& schedule,
                       Sharding& sharding) {
  const at::NoGradGuard no_grad;
  const Mixed mixed = mix(batch.latent_BCFYX, batch.action_BPA, draws, schedule);
  const auto forward = dit.forward(dit_input(batch, mixed, batch.text_BMD.scalar_type()), sharding,
                                   Leaves::Track::kNo);
  forward->finish();
  return flow_losses(forward->output, mixed, batch.action_mask_BPA, batch.has_real_action_B);
}

Prediction sample(Dit& dit,
                  const EncodedBatch& batch,
                  const Draws& draws,
                  Sharding& sharding,
                  std::int64_t steps) {
  const at::NoGradGuard no_grad;
  const auto wide = accumulate_type(batch.text_BMD.scalar_type());
  const std::vector<double> sigma = sampling_sigmas(steps);
  Mixed now;
  now.noisy_BCFYX = draws.noise_BCFYX.to(wide, /*non_blocking=*/false, /*copy=*/true);
  now.noisy_BPA = draws.noise_BPA.to(wide, /*non_blocking=*/false, /*copy=*/true);
  at::Tensor seen;
  for (std::size_t i = 0; i + 1 < sigma.size(); ++i) {
    now.video_timestep_BR = at::full(draws.level_BR.sizes(), 1000.0 * sigma[i],
                                     draws.noise_BCFYX.options().dtype(at::kFloat));
    const auto forward = dit.forward(dit_input(batch, now, batch.text_BMD.scalar_type()), sharding,
                                     Leaves::Track::kNo);
    forward->finish();
    const DitOutput& velocity = forward->output;
    seen = now.noisy_BCFYX.narrow(3, 0, velocity.video_BCFYX.size(3))
               .narrow(4, 0, velocity.video_BCFYX.size(4));
    seen.add_(velocity.video_BCFYX.to(wide), sigma[i + 1] - sigma[i]);
    now.noisy_BPA.add_(velocity.action_BPA.to(wide), sigma[i + 1] - sigma[i]);
  }
  return {.action_BPA = now.noisy_BPA.clamp(-1.0, 1.0), .latent_BCFYX = seen};
}

}  // namespace wam
