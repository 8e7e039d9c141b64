#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>

#include "core/ops/parameter.h"
#include "models/wam/step.h"
#include "test/golden/wam/wam_golden.h"
#include "test/support/catch.h"

namespace wam::test {
namespace {

EncodedBatch batch_of(const GoldenFile& file, const WamConfig& config, const GoldenPlace& place) {
  const auto build = [&](const std::string& name, at::ScalarType type) {
    return file.build(name, type).to(place.device);
  };
  const auto wide = accumulate_type(place.type);
  EncodedBatch batch;
  batch.latent_BCFYX = build("in.latents", wide);
  if (config.type == ModelType::kI2v) batch.condition_BCFYX = build("in.y", place.type);
  batch.text_BMD = build("in.prompt", place.type);
  batch.clip_BMD = build("in.clip", place.type);
  batch.state_BNS = build("in.state", place.type);
  batch.action_BPA = build("in.action", wide);
  batch.action_mask_BPA = build("in.action_mask", wide);
  batch.has_real_action_B = build("in.has_real_action", wide).flatten();
  return batch;
}

Draws draws_of(const GoldenFile& file, const GoldenPlace& place) {
  const auto wide = accumulate_type(place.type);
  return {.noise_BCFYX = file.build("draw.0", wide).to(place.device),
          .noise_BPA = file.build("draw.2", wide).to(place.device),
          .level_BR = per_block(file.build("draw.1", at::kLong)).to(place.device),
          .level_BP = {}};
}

FlowSchedule schedule_of(const GoldenFile& file, const GoldenPlace& place) {
  return {.sigma = file.stored("sched.sigmas").to(place.device),
          .timestep = file.stored("sched.timesteps").to(place.device),
          .weight = file.stored("sched.weights").to(place.device)};
}

void check_file(const GoldenFile& file, const GoldenPlace& place, RecomputePolicy policy) {
  const WamConfig config = config_of(file, "in.clip");
  if (!runs_at(place, file, config)) return;
  const auto engine = make_attention_engine(place.device, place.type, /*deterministic=*/true);
  Dit dit(config, {policy}, engine.get());
  const auto units = golden_units(file, dit, place);
  const EncodedBatch batch = batch_of(file, config, place);
  const Draws draws = draws_of(file, place);
  const FlowSchedule schedule = schedule_of(file, place);
  const double samples = static_cast<double>(draws.level_BR.size(0));

  // The reference's loss is the mean over samples.
  const Losses losses = training_step(dit, batch, draws, schedule, *units,
                                      loss_weight(1.0 / samples, batch.text_BMD));

  INFO(file.name() << " on " << place.text() << ", policy " << name_of(policy));
  const at::Tensor counted = batch.action_mask_BPA * batch.has_real_action_B.view({-1, 1, 1});
  const double limit = loss_limit(place, config, counted.sum().item<std::int64_t>());
  CHECK(file.error_of(losses.loss / samples, "out.loss") < limit);
  CHECK(file.error_of(losses.video / samples, "out.dynamics_loss") < limit);
  CHECK(file.error_of(losses.action / samples, "out.action_loss") < limit);
  check_gradients(file, place, limits_for(place, config), *units);

  const Losses evaluated = evaluation_step(dit, batch, draws, schedule, *units);
  CHECK(at::equal(evaluated.loss, losses.loss));
}

}  // namespace

TEST_CASE("A training step equals the reference") {
  for (const GoldenPlace& place : golden_places()) {
    for (const auto& path : golden_files("sft")) {
      check_file(GoldenFile(path), place, RecomputePolicy::kNone);
      check_file(GoldenFile(path), place, RecomputePolicy::kFull);
    }
  }
}

}  // namespace wam::test
