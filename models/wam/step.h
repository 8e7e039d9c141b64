#pragma once

#include "core/train/model.h"
#include "core/train/sharding.h"
#include "models/wam/dit.h"
#include "models/wam/flow_matching.h"

namespace wam {

// A batch after the frozen encoders, on the model's device. Everything random is in Draws.
// Types: what the transformer reads in the compute type; latents and actions may be wider, since
// they are mixed with noise in the accumulate type.
struct EncodedBatch {
  at::Tensor latent_BCFYX;
  at::Tensor condition_BCFYX;  // i2v only
  at::Tensor text_BMD;
  at::Tensor clip_BMD;
  at::Tensor state_BNS;
  at::Tensor action_BPA;         // undefined: video only
  at::Tensor action_mask_BPA;    // any type
  at::Tensor has_real_action_B;  // any type
};

// What the transformer reads, at given noise.
DitInput dit_input(const EncodedBatch& batch, const Mixed& mixed, at::ScalarType compute_type);

// A loss weight () where a step wants it: on the device of `x`, in its accumulate type.
at::Tensor loss_weight(double weight, const at::Tensor& x);

// Forward and backward of weight * sum of losses; gradients are added to the units of `sharding`.
Losses training_step(Dit& dit,
                     const EncodedBatch& batch,
                     const Draws& draws,
                     const FlowSchedule& schedule,
                     Sharding& sharding,
                     const at::Tensor& weight);
// The losses alone.
Losses evaluation_step(Dit& dit,
                       const EncodedBatch& batch,
                       const Draws& draws,
                       const FlowSchedule& schedule,
                       Sharding& sharding);

// Euler steps of the learned velocity from noise to data, video and actions at the same noise level
// everywhere, the clean half holding the true latents. The video covers the rows and columns that
// the transformer sees (an odd last one is missing).
Prediction sample(Dit& dit,
                  const EncodedBatch& batch,
                  const Draws& draws,
                  Sharding& sharding,
                  std::int64_t steps);

}  // namespace wam
