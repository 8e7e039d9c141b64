#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <torch/csrc/autograd/autograd.h>

#include "test/support/catch.h"
#include "test/unit/models/wam/plain_dit.h"
#include "test/unit/models/wam/random_dit.h"

namespace wam::test {
namespace {

at::Tensor dot_with_random(const DitOutput& out) {
  const auto dot = [](const at::Tensor& t, std::uint64_t key) {
    return (t * random_tensor(t.sizes().vec(), key).to(t.scalar_type())).sum();
  };
  const at::Tensor video = dot(out.video_BCFYX, 100);
  return out.action_BPA.defined() ? video + dot(out.action_BPA, 101) : video;
}

DitOutput run(Dit& dit, const DitInput& in, ShardedUnits& units) {
  const auto forward = dit.forward(in, units, Leaves::Track::kYes);
  forward->begin_backward();
  torch::autograd::backward({dot_with_random(forward->output)});
  forward->end_backward();
  return forward->output;
}

void compare_with_autograd(const WamConfig& config, const InputShape& shape) {
  INFO(name_of(config.type) << ", " << shape.blocks << " blocks, actions " << shape.actions
                            << ", own action time " << (shape.action_time == ActionTime::kOwn)
                            << ", text rows " << shape.text_rows);
  Dit dit(config, {RecomputePolicy::kNone});
  const auto units = random_units(dit, at::kDouble);
  const DitInput in = random_input(config, shape, at::kDouble);
  const DitOutput found = run(dit, in, *units);

  auto leaves = leaves_by_name(*units);
  const DitOutput expected = plain_dit(in, config, leaves);
  torch::autograd::backward({dot_with_random(expected)});

  CHECK(relative_error(found.video_BCFYX, expected.video_BCFYX) < 1e-11);
  if (shape.actions) CHECK(relative_error(found.action_BPA, expected.action_BPA) < 1e-11);
  for (const Unit& unit : units->units()) {
    for (std::size_t i = 0; i < unit.spec().tensors.size(); ++i) {
      const at::Tensor& leaf = leaves.at(unit.spec().tensors[i].name);
      INFO(unit.spec().tensors[i].name);
      if (leaf.grad().defined()) {
        CHECK(relative_error(unit.weight_gradient(i), leaf.grad()) < 1e-9);
      } else {
        CHECK(unit.weight_gradient(i).abs().max().item<double>() == 0.0);
      }
    }
  }
}

}  // namespace

TEST_CASE("Block backward equals autograd of a dense second formulation") {
  for (const ModelType type : {ModelType::kTi2v, ModelType::kI2v}) {
    for (const std::int64_t blocks : {1, 2, 3, 4, 5, 6}) {
      compare_with_autograd(small_config(type), {.blocks = blocks});
    }
    compare_with_autograd(small_config(type), {.blocks = 2, .actions = false});
    compare_with_autograd(small_config(type), {.blocks = 5, .actions = false});
  }
}

TEST_CASE("Actions with timesteps of their own equal the dense formulation") {
  for (const std::int64_t blocks : {1, 3}) {
    compare_with_autograd(small_config(ModelType::kTi2v),
                          {.blocks = blocks, .action_time = ActionTime::kOwn});
  }
}

TEST_CASE("An odd latent row or column is dropped like the reference does") {
  compare_with_autograd(small_config(ModelType::kI2v), {.rows = 5, .columns = 7});
}

TEST_CASE("Shortened text equals text padded to its full length") {
  for (const std::int64_t text_rows : {1, 5, 8}) {
    compare_with_autograd(small_config(ModelType::kTi2v), {.text_rows = text_rows});
  }
}

TEST_CASE("One layer: the first block is the last") {
  WamConfig config = small_config(ModelType::kTi2v);
  config.layers = 1;
  compare_with_autograd(config, {.blocks = 3});
}

TEST_CASE("Every recompute policy gives equal bits") {
  const WamConfig config = small_config(ModelType::kI2v);
  std::vector<RecomputePlan> plans;
  for (const auto& [policy, name] : EnumNames<RecomputePolicy>::table) plans.push_back({policy});
  plans.push_back({.policy = RecomputePolicy::kNorms, .first_blocks = 1});
  for (const auto type : {at::kDouble, at::kFloat, at::kBFloat16}) {
    Dit none(config, {RecomputePolicy::kNone});
    const auto expected = random_units(none, type);
    const DitInput in = random_input(config, {.blocks = 3, .text_rows = 4}, type);
    const DitOutput out = run(none, in, *expected);
    for (const RecomputePlan& plan : plans) {
      INFO(name_of(plan.policy) << ", first blocks " << plan.first_blocks << ", "
                                << c10::toString(type));
      Dit dit(config, plan);
      const auto units = random_units(dit, type);
      CHECK(at::equal(run(dit, in, *units).video_BCFYX, out.video_BCFYX));
      for (std::size_t i = 0; i < units->units().size(); ++i) {
        INFO(units->units()[i].spec().name);
        CHECK(units->units()[i].gradient().abs().max().item<double>() > 0);
        CHECK(at::equal(units->units()[i].gradient(), expected->units()[i].gradient()));
      }
    }
  }
}

TEST_CASE("Gradients accumulate over micro-steps") {
  const WamConfig config = small_config(ModelType::kTi2v);
  Dit dit(config, {RecomputePolicy::kNone});
  const auto units = random_units(dit, at::kDouble);
  const DitInput in = random_input(config, {}, at::kDouble);
  run(dit, in, *units);
  const at::Tensor once = units->shard_gradient(1).clone();
  run(dit, in, *units);
  CHECK(relative_error(units->shard_gradient(1), once * 2) < 1e-14);
  units->begin_step();
  CHECK(units->shard_gradient(1).abs().max().item<double>() == 0.0);
}

TEST_CASE("bf16 stays close to float32") {
  const WamConfig config = small_config(ModelType::kTi2v);
  Dit dit(config, {RecomputePolicy::kNone});
  const auto units = random_units(dit, at::kFloat);
  const auto units_bf16 = random_units(dit, at::kBFloat16);
  const DitOutput expected = run(dit, random_input(config, {}, at::kFloat), *units);
  const DitOutput found = run(dit, random_input(config, {}, at::kBFloat16), *units_bf16);

  CHECK(found.video_BCFYX.scalar_type() == at::kBFloat16);
  CHECK(relative_error(found.video_BCFYX, expected.video_BCFYX) < 3e-2);
  CHECK(relative_error(found.action_BPA, expected.action_BPA) < 3e-2);
  for (std::size_t i = 0; i < units->units().size(); ++i) {
    INFO(units->units()[i].spec().name);
    const at::Tensor e = units->shard_gradient(i);
    const at::Tensor difference = units_bf16->shard_gradient(i) - e;
    CHECK(units_bf16->shard_gradient(i).scalar_type() == at::kFloat);
    CHECK(difference.norm().item<double>() < 5e-2 * e.norm().item<double>());
  }
}

}  // namespace wam::test
