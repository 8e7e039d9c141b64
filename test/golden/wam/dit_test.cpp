#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <torch/csrc/autograd/autograd.h>

#include "test/golden/wam/wam_golden.h"
#include "test/support/catch.h"

namespace wam::test {
namespace {

DitInput input_of(const GoldenFile& file,
                  const WamConfig& config,
                  const GoldenPlace& place,
                  ActionTime action_time) {
  const auto build = [&](const std::string& name, at::ScalarType type) {
    return file.build(name, type).to(place.device);
  };
  DitInput in;
  in.noisy_BCFYX = build("in.x", place.type).requires_grad_();
  in.clean_BCFYX = build("in.clean_x", place.type);
  if (config.type == ModelType::kI2v) in.condition_BCFYX = build("in.y", place.type);
  in.video_timestep_BR = per_block(build("in.timestep", at::kDouble));
  if (action_time == ActionTime::kOwn) {
    in.action_timestep_BP = build("in.timestep_action", at::kDouble);
  }
  in.text_BMD = build("in.context", place.type);
  in.clip_BMD = build("in.clip_feature", place.type);
  in.state_BNS = build("in.state", place.type);
  in.action_BPA = build("in.action", place.type).requires_grad_();
  return in;
}

// Coupled actions have the timestep of their block.
bool is_coupled(const GoldenFile& file, const WamConfig& config) {
  const at::Tensor blocks = per_block(file.build("in.timestep", at::kDouble)).slice(1, 1);
  const at::Tensor expected =
      blocks.unsqueeze(-1).expand({-1, -1, config.actions_per_block}).flatten(1);
  return at::equal(expected, file.build("in.timestep_action", at::kDouble));
}

at::Tensor product_sum(const GoldenFile& file, const at::Tensor& out, const std::string& name) {
  const auto wide = accumulate_type(out.scalar_type());
  return (out.to(wide) * file.build(name, wide).to(out.device())).sum();
}

void check_file(const GoldenFile& file,
                const GoldenPlace& place,
                RecomputePolicy policy,
                ActionTime action_time) {
  const WamConfig config = config_of(file, "in.clip_feature");
  if (!runs_at(place, file, config)) return;
  const auto engine = make_attention_engine(place.device, place.type, /*deterministic=*/true);
  Dit dit(config, {policy}, engine.get());
  const auto units = golden_units(file, dit, place);
  const DitInput in = input_of(file, config, place, action_time);

  const auto forward = dit.forward(in, *units, Leaves::Track::kYes);
  const DitOutput& out = forward->output;
  const at::Tensor loss = product_sum(file, out.video_BCFYX, "cot.video") +
                          product_sum(file, out.action_BPA, "cot.action");
  forward->begin_backward();
  torch::autograd::backward({loss});
  forward->end_backward();

  const Limits limits = limits_for(place, config);
  INFO(file.name() << " on " << place.text() << ", policy " << name_of(policy));
  CHECK(file.error_of(out.video_BCFYX, "out.video") < limits.output);
  CHECK(file.error_of(out.action_BPA, "out.action") < limits.output);
  check_gradient(file, place, limits, in.noisy_BCFYX.grad(), "x");
  check_gradient(file, place, limits, in.action_BPA.grad(), "action");
  check_gradients(file, place, limits, *units);
}

void check_all(RecomputePolicy policy) {
  for (const GoldenPlace& place : golden_places()) {
    for (const auto& path : golden_files("dit")) {
      const GoldenFile file(path);
      check_file(file, place, policy, ActionTime::kOwn);
      if (is_coupled(file, config_of(file, "in.clip_feature"))) {
        check_file(file, place, policy, ActionTime::kOfBlock);
      }
    }
  }
}

}  // namespace

TEST_CASE("The transformer equals the reference") {
  check_all(RecomputePolicy::kNone);
}

TEST_CASE("The transformer equals the reference with full recompute") {
  check_all(RecomputePolicy::kFull);
}

}  // namespace wam::test
