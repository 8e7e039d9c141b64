// The whole transformer with its kernels, cuDNN's attention in bf16, against the plain twins on the
// CPU in double: the same numbers go in, rounded to bf16 beforehand.

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include <ATen/TensorOperators.h>
#include <torch/csrc/autograd/autograd.h>

#include "models/wam/loss.h"
#include "test/golden/wam/wam_golden.h"
#include "test/support/catch.h"
#include "test/unit/models/wam/random_dit.h"

namespace wam::test {
namespace {

const GoldenPlace kReference{at::kCPU, at::kDouble};

struct Results {
  DitOutput output;
  Losses losses;
  std::map<std::string, at::Tensor> gradients;  // of "x", "action" and every parameter
};

at::Tensor bf16_values(const at::Tensor& t) {
  return t.is_floating_point() ? t.to(at::kBFloat16) : t;
}

EncodedBatch batch_at(const GoldenPlace& place, const WamConfig& config, const InputShape& shape) {
  const EncodedBatch host = random_batch(config, shape, at::kDouble);
  const auto move = [&](const at::Tensor& t, at::ScalarType type) {
    return t.defined() ? bf16_values(t).to(place.device, type) : at::Tensor();
  };
  const auto wide = accumulate_type(place.type);
  return {move(host.latent_BCFYX, wide),    move(host.condition_BCFYX, place.type),
          move(host.text_BMD, place.type),  move(host.clip_BMD, place.type),
          move(host.state_BNS, place.type), move(host.action_BPA, wide),
          move(host.action_mask_BPA, wide), move(host.has_real_action_B, wide)};
}

std::unique_ptr<ShardedUnits> units_at(const GoldenPlace& place, const Dit& dit) {
  ShardedUnits::Options options{.device = place.device, .compute_type = place.type};
  options.state_type = accumulate_type(place.type);
  auto out = std::make_unique<ShardedUnits>(dit.units(), options);
  const auto host = random_units(dit, at::kBFloat16);
  for (std::size_t i = 0; i < out->units().size(); ++i) {
    out->units()[i].compute().copy_(host->units()[i].compute());
  }
  return out;
}

// Levels of noise of their own for the actions, or those of their blocks.
Draws draws_at(const GoldenPlace& place, const EncodedBatch& batch, ActionTime action_time) {
  std::vector<std::uint64_t> ordinals;
  for (std::int64_t i = 0; i < batch.text_BMD.size(0); ++i) {
    ordinals.push_back(static_cast<std::uint64_t>(i));
  }
  Draws draws = make_draws(5, ordinals, batch.latent_BCFYX.sizes().slice(1).vec(),
                           batch.action_BPA.sizes().slice(1).vec(), place.device);
  if (action_time == ActionTime::kOwn) {
    const auto actions = batch.action_BPA.sizes().slice(0, 2);
    draws.level_BP =
        random_tensor(actions.vec(), 11).abs().mul(300).clamp(0, 999).to(place.device, at::kLong);
  }
  return draws;
}

Results run(const GoldenPlace& place, const WamConfig& config, const InputShape& shape) {
  const auto engine = make_attention_engine(place.device, place.type, /*deterministic=*/true);
  Dit dit(config, {RecomputePolicy::kNone}, engine.get());
  const auto units = units_at(place, dit);
  const EncodedBatch batch = batch_at(place, config, shape);
  const Mixed mixed = mix(batch.latent_BCFYX, batch.action_BPA,
                          draws_at(place, batch, shape.action_time), flow_schedule(place.device));
  DitInput in = dit_input(batch, mixed, place.type);
  in.noisy_BCFYX.requires_grad_();
  in.action_BPA.requires_grad_();

  const auto forward = dit.forward(in, *units, Leaves::Track::kYes);
  const Losses losses =
      flow_losses(forward->output, mixed, batch.action_mask_BPA, batch.has_real_action_B);
  forward->begin_backward();
  torch::autograd::backward({losses.loss});
  forward->end_backward();

  Results out{forward->output, losses, {}};
  out.gradients["x"] = in.noisy_BCFYX.grad();
  out.gradients["action"] = in.action_BPA.grad();
  for (const Unit& unit : units->units()) {
    for (std::size_t i = 0; i < unit.spec().tensors.size(); ++i) {
      out.gradients[unit.spec().tensors[i].name] = unit.weight_gradient(i);
    }
  }
  return out;
}

// Adding the same to all keys changes no softmax: but for the key norm, the gradient of a key's
// bias would be zero, and its error is that of the terms that cancel. Their size shows in the
// gradient of the weight, whose terms are those times an input of size one (and cancel in part:
// twice).
double cancelled_size(const Results& expected, const std::string& name) {
  if (!name.ends_with(".k.bias") && !name.ends_with(".k_img.bias")) return 0.0;
  const at::Tensor& weight =
      expected.gradients.at(name.substr(0, name.size() - std::string("bias").size()) + "weight");
  return 2 * weight.norm().item<double>() / std::sqrt(static_cast<double>(weight.size(1)));
}

// Of the root mean square.
double mean_error(const Results& found, const Results& expected, const std::string& name) {
  const at::Tensor& gradient = expected.gradients.at(name);
  const at::Tensor wide = found.gradients.at(name).detach().to(at::kCPU, at::kDouble);
  return (wide - gradient).norm().item<double>() /
         std::max(gradient.norm().item<double>(), cancelled_size(expected, name));
}

double largest_error(const at::Tensor& found, const at::Tensor& expected) {
  return relative_error(found.to(at::kCPU), expected);
}

void compare(const GoldenPlace& place, const WamConfig& config, const InputShape& shape) {
  const Results expected = run(kReference, config, shape);

  const Results found = run(place, config, shape);

  const Limits limits = limits_for(place, config);
  const double loss = loss_limit(place, config, expected.output.action_BPA.numel());
  CHECK(largest_error(found.output.video_BCFYX, expected.output.video_BCFYX) < limits.output);
  CHECK(largest_error(found.output.action_BPA, expected.output.action_BPA) < limits.output);
  CHECK(largest_error(found.losses.video, expected.losses.video) < loss);
  CHECK(largest_error(found.losses.action, expected.losses.action) < loss);
  REQUIRE(found.gradients.size() == expected.gradients.size());
  for (const auto& [name, gradient] : expected.gradients) {
    INFO("gradient of " << name);
    CHECK(gradient.norm().item<double>() > 0);
    CHECK(mean_error(found, expected, name) <
          limits_of_gradient(place, limits, name).stored_gradient);
  }
}

void compare_shapes(ModelType type) {
  for (const GoldenPlace& place : golden_places()) {
    for (const std::int64_t blocks : {1, 2, 5}) {
      for (const ActionTime action_time : {ActionTime::kOfBlock, ActionTime::kOwn}) {
        // 2 x 3 tokens a frame; one more row of text than was given, or all of it.
        const InputShape shape{.samples = 3,
                               .blocks = blocks,
                               .rows = 5,
                               .columns = 6,
                               .text_rows = action_time == ActionTime::kOwn ? 32 : 20,
                               .action_time = action_time};
        INFO(place.text() << ", " << blocks << " blocks, actions with their own time "
                          << (action_time == ActionTime::kOwn));
        compare(place, kernel_config(type), shape);
      }
    }
  }
}

}  // namespace

TEST_CASE("The whole model equals its plain twins: text-and-image to video") {
  compare_shapes(ModelType::kTi2v);
}

TEST_CASE("The whole model equals its plain twins: image to video") {
  compare_shapes(ModelType::kI2v);
}

}  // namespace wam::test
