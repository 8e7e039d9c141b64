#include "models/wam/wam_model.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/upsample_bilinear2d.h>
#include <ATen/ops/zeros.h>

#include "core/base/errors.h"
#include "core/ops/parameter.h"
#include "models/wam/initialise.h"

namespace wam {
namespace {

// (B, 3, T, H, W) -> the same at another size, frame by frame: bilinear, pixel centres, no
// antialias.
at::Tensor resized(const at::Tensor& video_BCTHW, std::int64_t height, std::int64_t width) {
  if (video_BCTHW.size(3) == height && video_BCTHW.size(4) == width) return video_BCTHW;
  const std::int64_t batch = video_BCTHW.size(0);
  const at::Tensor frames = video_BCTHW.transpose(1, 2).flatten(0, 1);
  return at::upsample_bilinear2d(frames, {height, width}, /*align_corners=*/false)
      .unflatten(0, {batch, -1})
      .transpose(1, 2);
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

at::Tensor WamModel::video_of(const Batch& batch) const {
  const auto wide = accumulate_type(options_.compute_type);
  const at::Tensor image = batch.raw ? images_of(*batch.raw, options_.device)
                                     : batch.image_BTHWC.to(options_.device, /*non_blocking=*/true);
  at::Tensor video = image.permute({0, 4, 1, 2, 3}).to(wide);
  video.div_(255.0).sub_(0.5).div_(0.5);
  return resized(video, options_.config.target_height, options_.config.target_width)
      .to(options_.compute_type);
}

// A mask of 4 channels that is one at the first latent frame, and the latent of the video that
// holds the first frame and then grey.
at::Tensor WamModel::first_frame_condition(const at::Tensor& video_BCTHW,
                                           const at::Tensor& latent_BCFYX) {
  const at::Tensor known =
      encoders_.encode_first_frame(video_BCTHW.select(2, 0), video_BCTHW.size(2))
          .to(options_.compute_type);
  const auto size = latent_BCFYX.sizes();
  at::Tensor mask = at::zeros({size[0], 4, size[2], size[3], size[4]}, known.options());
  mask.narrow(2, 0, 1).fill_(1.0);
  return at::cat({mask, known}, 1);
}

EncodedBatch WamModel::encode(const Batch& batch) {
  const at::NoGradGuard no_grad;
  const auto wide = accumulate_type(options_.compute_type);
  const auto move = [&](const at::Tensor& t, at::ScalarType type) {
    return t.to(options_.device, /*non_blocking=*/true).to(type);
  };
  const at::Tensor video = video_of(batch);
  EncodedBatch out;
  out.latent_BCFYX = encoders_.encode_video(video).to(options_.compute_type);
  if (options_.config.type == ModelType::kI2v) {
    out.condition_BCFYX = first_frame_condition(video, out.latent_BCFYX);
  }
  out.clip_BMD = encoders_.clip_features(video.select(2, 0)).to(options_.compute_type);
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
