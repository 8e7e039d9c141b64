#include "models/wam/wam_model.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/zeros.h>

#include "core/base/errors.h"
#include "core/ops/parameter.h"
#include "models/wam/initialise.h"
#include "models/wam/picture_encoding.h"

namespace wam {
namespace {

// A mask of 4 channels that is one at the first latent frame, and the latent of the first frame
// followed by grey.
at::Tensor first_frame_condition(const at::Tensor& still_BCFYX) {
  const auto size = still_BCFYX.sizes();
  at::Tensor mask = at::zeros({size[0], 4, size[2], size[3], size[4]}, still_BCFYX.options());
  mask.narrow(2, 0, 1).fill_(1.0);
  return at::cat({mask, still_BCFYX}, 1);
}

}  // namespace

WamModel::WamModel(const Options& options, FrozenEncoders& encoders)
    : options_(options),
      encoders_(encoders),
      attention_(
          make_attention_engine(options.device, options.compute_type, options.deterministic)),
      dit_(options.config, options.recompute, attention_.get()),
      schedule_(flow_schedule(options.device)) {
  if (!options.graphs) return;
  graphs_ = std::make_unique<StepGraphs>(dit_, schedule_, options.device, options.graph_observer);
}

void WamModel::initialise(const TensorSpec& tensor, std::uint64_t seed, at::Tensor out) const {
  initialise_parameter(tensor, options_.config, seed, std::move(out));
}

EncodedBatch WamModel::encode(const Batch& batch) {
  const at::NoGradGuard no_grad;
  const auto wide = accumulate_type(options_.compute_type);
  const auto move = [&](const at::Tensor& t, at::ScalarType type) {
    return t.to(options_.device, /*non_blocking=*/true).to(type);
  };
  const EncodedPictures pictures = batch.encoded ? *batch.encoded
                                                 : encode_pictures(batch, encoders_,
                                                                   {.config = options_.config,
                                                                    .type = options_.compute_type,
                                                                    .device = options_.device});
  EncodedBatch out;
  out.latent_BCFYX = move(pictures.latent_BCFYX, options_.compute_type);
  if (options_.config.type == ModelType::kI2v) {
    out.condition_BCFYX = first_frame_condition(move(pictures.still_BCFYX, options_.compute_type));
  }
  out.clip_BMD = move(pictures.image_BMD, options_.compute_type);
  out.text_BMD = move(batch.text_BMD, options_.compute_type);
  out.state_BNS = move(batch.state_BNS, options_.compute_type);
  out.action_BPA = move(batch.action_BPA, wide);
  out.action_mask_BPA = move(batch.action_mask_BPA, wide);
  out.has_real_action_B = move(batch.has_real_action_B, wide);
  return out;
}

Draws WamModel::draws_for(const Batch& batch,
                          const EncodedBatch& encoded,
                          std::uint64_t seed) const {
  return make_draws(seed, batch.ordinal, encoded.latent_BCFYX.sizes().slice(1).vec(),
                    encoded.action_BPA.sizes().slice(1).vec(), options_.device);
}

Losses WamModel::no_losses() const {
  const at::Tensor zero = at::zeros(
      {}, at::TensorOptions(options_.device).dtype(accumulate_type(options_.compute_type)));
  return {zero, zero, zero};
}

void WamModel::enter(Activity activity) {
  if (options_.clock != nullptr) options_.clock->enter(activity);
}

Losses WamModel::train(const Batch& batch, Sharding& sharding, std::uint64_t seed, double weight) {
  if (batch.size() == 0) {
    dit_.walk_empty(sharding, Leaves::Track::kYes);
    return no_losses();
  }
  enter(Activity::kEncode);
  const EncodedBatch encoded = encode(batch);
  enter(Activity::kForwardBackward);
  const Draws draws = draws_for(batch, encoded, seed);
  if (graphs_) return graphs_->run(encoded, draws, sharding, weight);
  return training_step(dit_, encoded, draws, schedule_, sharding,
                       loss_weight(weight, encoded.text_BMD));
}

void WamModel::rehearse(const Batch& batch, Sharding& sharding) {
  invariant(graphs_ != nullptr, "a rehearsal without graphs");
  if (batch.size() > 0) {
    const EncodedBatch encoded = encode(batch);
    graphs_->rehearse(encoded, draws_for(batch, encoded, /*seed=*/0), sharding);
    return;
  }
  for (int i = 0; i < DeviceGraph::kWarmUps; ++i) {
    dit_.walk_empty(sharding, Leaves::Track::kYes);
  }
}

void WamModel::end_rehearsal() {
  if (graphs_) graphs_->end_rehearsal();
}

Losses WamModel::evaluate(const Batch& batch, Sharding& sharding, std::uint64_t seed) {
  if (batch.size() == 0) {
    dit_.walk_empty(sharding, Leaves::Track::kNo);
    return no_losses();
  }
  const EncodedBatch encoded = encode(batch);
  return evaluation_step(dit_, encoded, draws_for(batch, encoded, seed), schedule_, sharding);
}

Prediction WamModel::predict(const Batch& batch,
                             Sharding& sharding,
                             std::uint64_t seed,
                             std::int64_t steps) {
  if (batch.size() == 0) {
    for (std::int64_t i = 0; i < steps; ++i) dit_.walk_empty(sharding, Leaves::Track::kNo);
    return {};
  }
  const EncodedBatch encoded = encode(batch);
  return sample(dit_, encoded, draws_for(batch, encoded, seed), sharding, steps);
}

}  // namespace wam
