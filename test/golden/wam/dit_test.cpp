#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <torch/csrc/autograd/autograd.h>

#include "test/golden/wam/wam_golden.h"
#include "test/support/catch.h"

namespace wam::test {
namespace {

DitInput input_of(const GoldenFile& file,
                  const WamConfig& config,
                  at::ScalarType type,
                  ActionTime action_time) {
  DitInput in;
  in.noisy_BCFYX = file.build("in.x", type).requires_grad_();
  in.clean_BCFYX = file.build("in.clean_x", type);
  if (config.type == ModelType::kI2v) in.condition_BCFYX = file.build("in.y", type);
  in.video_timestep_BR = per_block(file.build("in.timestep", at::kDouble));
  if (action_time == ActionTime::kOwn) {
    in.action_timestep_BP = file.build("in.timestep_action", at::kDouble);
  }
  in.text_BMD = file.build("in.context", type);
  in.clip_BMD = file.build("in.clip_feature", type);
  in.state_BNS = file.build("in.state", type);
  in.action_BPA = file.build("in.action", type).requires_grad_();
  return in;
}

// Coupled actions have the timestep of their block.
bool is_coupled(const GoldenFile& file, const WamConfig& config) {
  const at::Tensor blocks = per_block(file.build("in.timestep", at::kDouble)).slice(1, 1);
  const at::Tensor expected =
      blocks.unsqueeze(-1).expand({-1, -1, config.actions_per_block}).flatten(1);
  return at::equal(expected, file.build("in.timestep_action", at::kDouble));
}

void check_file(const GoldenFile& file,
                at::ScalarType type,
                RecomputePolicy policy,
                ActionTime action_time) {
  WamConfig config = config_of(file);
  const auto clip_shape =
      file.specs().at("in.clip_feature").at("shape").get<std::vector<std::int64_t>>();
  config.clip_tokens = clip_shape[1];
  Dit dit(config, {policy});
  const auto units = golden_units(file, dit, type);
  const DitInput in = input_of(file, config, type, action_time);

  const auto forward = dit.forward(in, *units, Leaves::Track::kYes);
  const DitOutput& out = forward->output;
  const at::Tensor loss = (out.video_BCFYX * file.build("cot.video", type)).sum() +
                          (out.action_BPA * file.build("cot.action", type)).sum();
  forward->begin_backward();
  torch::autograd::backward({loss});
  forward->end_backward();

  const Limits limits = limits_for(type);
  INFO(file.name() << " in " << c10::toString(type) << ", policy " << name_of(policy));
  CHECK(file.error_of(out.video_BCFYX, "out.video") < limits.output);
  CHECK(file.error_of(out.action_BPA, "out.action") < limits.output);
  CHECK(file.gradient_error(in.noisy_BCFYX.grad(), "x").stored < limits.stored_gradient);
  CHECK(file.gradient_error(in.noisy_BCFYX.grad(), "x").print < limits.gradient);
  CHECK(file.gradient_error(in.action_BPA.grad(), "action").stored < limits.stored_gradient);
  CHECK(file.gradient_error(in.action_BPA.grad(), "action").print < limits.gradient);
  check_gradients(file, *units, limits);
}

void check_all(at::ScalarType type, RecomputePolicy policy) {
  for (const auto& path : golden_files("dit")) {
    const GoldenFile file(path);
    check_file(file, type, policy, ActionTime::kOwn);
    if (is_coupled(file, config_of(file))) check_file(file, type, policy, ActionTime::kOfBlock);
  }
}

}  // namespace

TEST_CASE("The transformer equals the reference in double") {
  check_all(at::kDouble, RecomputePolicy::kNone);
}

TEST_CASE("The transformer equals the reference in double with full recompute") {
  check_all(at::kDouble, RecomputePolicy::kFull);
}

TEST_CASE("The transformer equals the reference in float32") {
  check_all(at::kFloat, RecomputePolicy::kNone);
}

TEST_CASE("The transformer equals the reference in float32 with full recompute") {
  check_all(at::kFloat, RecomputePolicy::kFull);
}

}  // namespace wam::test
