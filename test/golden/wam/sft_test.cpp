#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>

#include "models/wam/step.h"
#include "test/golden/wam/wam_golden.h"
#include "test/support/catch.h"

namespace wam::test {
namespace {

EncodedBatch batch_of(const GoldenFile& file, const WamConfig& config, at::ScalarType type) {
  EncodedBatch batch;
  batch.latent_BCFYX = file.build("in.latents", type);
  if (config.type == ModelType::kI2v) batch.condition_BCFYX = file.build("in.y", type);
  batch.text_BMD = file.build("in.prompt", type);
  batch.clip_BMD = file.build("in.clip", type);
  batch.state_BNS = file.build("in.state", type);
  batch.action_BPA = file.build("in.action", type);
  batch.action_mask_BPA = file.build("in.action_mask", type);
  batch.has_real_action_B = file.build("in.has_real_action", type).flatten();
  return batch;
}

Draws draws_of(const GoldenFile& file, at::ScalarType type) {
  return {.noise_BCFYX = file.build("draw.0", type),
          .noise_BPA = file.build("draw.2", type),
          .level_BR = per_block(file.build("draw.1", at::kLong)),
          .level_BP = {}};
}

void check_file(const GoldenFile& file, at::ScalarType type, RecomputePolicy policy) {
  WamConfig config = config_of(file);
  const auto clip_shape = file.specs().at("in.clip").at("shape").get<std::vector<std::int64_t>>();
  config.clip_tokens = clip_shape[1];
  Dit dit(config, {policy});
  const auto units = golden_units(file, dit, type);
  const EncodedBatch batch = batch_of(file, config, type);
  const Draws draws = draws_of(file, type);
  const FlowSchedule schedule{.sigma = file.stored("sched.sigmas"),
                              .timestep = file.stored("sched.timesteps"),
                              .weight = file.stored("sched.weights")};
  const double samples = static_cast<double>(draws.level_BR.size(0));

  // The reference's loss is the mean over samples.
  const Losses losses = training_step(dit, batch, draws, schedule, *units,
                                      loss_weight(1.0 / samples, batch.text_BMD));

  INFO(file.name() << " in " << c10::toString(type) << ", policy " << name_of(policy));
  const double limit = type == at::kDouble ? 1e-9 : 2e-6;
  CHECK(file.error_of(losses.loss / samples, "out.loss") < limit);
  CHECK(file.error_of(losses.video / samples, "out.dynamics_loss") < limit);
  CHECK(file.error_of(losses.action / samples, "out.action_loss") < limit);
  check_gradients(file, *units, limits_for(type));

  const Losses evaluated = evaluation_step(dit, batch, draws, schedule, *units);
  CHECK(at::equal(evaluated.loss, losses.loss));
}

void check_all(at::ScalarType type) {
  for (const auto& path : golden_files("sft")) {
    check_file(GoldenFile(path), type, RecomputePolicy::kNone);
    check_file(GoldenFile(path), type, RecomputePolicy::kFull);
  }
}

}  // namespace

TEST_CASE("A training step equals the reference in double") {
  check_all(at::kDouble);
}

TEST_CASE("A training step equals the reference in float32") {
  check_all(at::kFloat);
}

TEST_CASE("The noise schedule equals the reference") {
  for (const auto& path : golden_files("scheduler")) {
    const GoldenFile file(path);
    const FlowSchedule schedule = flow_schedule(at::kCPU);
    INFO(file.name());
    CHECK(at::equal(schedule.sigma, file.stored("sched.sigmas")));
    CHECK(at::equal(schedule.timestep, file.stored("sched.timesteps")));
    CHECK(file.error_of(schedule.weight, "sched.weights") < 5e-7);
    CHECK(file.error_of(schedule.weight, "sched64.weights") < 5e-7);
    CHECK(file.error_of(schedule.sigma, "sched64.sigmas") < 4e-7);
  }
}

}  // namespace wam::test
