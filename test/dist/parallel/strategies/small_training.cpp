#include "test/dist/parallel/strategies/small_training.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include "core/random/counter.h"
#include "core/train/optimizer.h"
#include "test/unit/models/wam/random_dit.h"

namespace wam::test {
namespace {

constexpr std::int64_t kBlocks = 1;
constexpr std::int64_t kFrames = 1 + 8 * kBlocks;

at::Tensor flat_weights(const UnitSpec& spec) {
  at::Tensor flat = at::zeros({spec.trainable_numel}, at::kDouble);
  for (const TensorSpec& tensor : spec.tensors) {
    const bool is_matrix =
        tensor.shape.size() > 1 && tensor.name.find("modulation") == std::string::npos;
    const double scale = is_matrix ? 0.2 : 0.25;
    const bool is_norm =
        tensor.name.find("norm") != std::string::npos && tensor.name.ends_with("weight");
    flat.narrow(0, tensor.offset, tensor.numel())
        .copy_(random_tensor({tensor.numel()}, fnv1a64(tensor.name.data(), tensor.name.size())) *
                   scale +
               (is_norm ? 1.0 : 0.0));
  }
  return flat;
}

}  // namespace

WamConfig width_32() {
  WamConfig c = small_config(ModelType::kTi2v);
  c.layers = 3;
  c.max_blocks = kBlocks;
  c.vae_stride = 4;
  c.target_height = 16;
  c.target_width = 24;
  return c;
}

Windows::Windows(const WamConfig& c) {
  const auto n = static_cast<std::int64_t>(kCount);
  all_.image_BTHWC = (random_tensor({n, kFrames, c.target_height, c.target_width, 3}, 1) * 40 + 120)
                         .clamp(0, 255)
                         .to(at::kByte);
  all_.state_BNS = random_tensor({n, kBlocks, c.state_width}, 2).to(at::kFloat);
  all_.action_BPA = random_tensor({n, kBlocks * c.actions_per_block, c.action_width}, 3)
                        .clamp(-1, 1)
                        .to(at::kFloat);
  all_.action_mask_BPA = random_tensor(all_.action_BPA.sizes().vec(), 4).gt(-1);
  all_.has_real_action_B = random_tensor({n}, 5).gt(-1);
  all_.text_BMD = random_tensor({n, 8, c.text_width}, 6).to(at::kFloat);
}

Batch Windows::batch(const std::vector<std::uint64_t>& ordinals) const {
  Batch out;
  out.ordinal = ordinals;
  out.id.resize(ordinals.size());
  out.prompt.resize(ordinals.size());
  out.text_length.assign(ordinals.size(), 8);
  if (ordinals.empty()) return out;
  std::vector<std::int64_t> rows;
  for (const std::uint64_t ordinal : ordinals) {
    rows.push_back(static_cast<std::int64_t>(order_.window(ordinal)));
  }
  const at::Tensor row_B = at::tensor(rows, at::kLong);
  out.image_BTHWC = all_.image_BTHWC.index_select(0, row_B);
  out.state_BNS = all_.state_BNS.index_select(0, row_B);
  out.action_BPA = all_.action_BPA.index_select(0, row_B);
  out.action_mask_BPA = all_.action_mask_BPA.index_select(0, row_B);
  out.has_real_action_B = all_.has_real_action_B.index_select(0, row_B);
  out.text_BMD = all_.text_BMD.index_select(0, row_B);
  return out;
}

SmallModel::SmallModel(at::ScalarType type, RecomputePolicy policy)
    : model({.config = width_32(), .compute_type = type, .recompute = {policy}}, encoders) {}

void fill_weights(Sharding& sharding) {
  for (Unit& unit : sharding.units()) {
    const ShardRange& shard = unit.shard();
    unit.state("master").copy_(flat_weights(unit.spec()).narrow(0, shard.begin, shard.numel()));
  }
  sharding.publish_weights();
}

at::Tensor run_micro_steps(WamModel& model,
                           Sharding& sharding,
                           const Windows& windows,
                           const BatchPlan& plan,
                           std::uint64_t step) {
  const double weight = 1.0 / static_cast<double>(plan.global_batch);
  at::Tensor sums = at::zeros({3}, at::kDouble);
  for (std::int64_t m = 0; m < plan.micro_steps(); ++m) {
    sharding.begin_micro_step(m + 1 == plan.micro_steps());
    const Losses part = model.train(windows.batch(plan.ordinals(step, m)), sharding, kSeed, weight);
    sums += at::cat({part.loss.view({1}), part.video.view({1}), part.action.view({1})});
  }
  return sums;
}

Numbers train(WamModel& model, Sharding& sharding, const Windows& windows, const Job& job) {
  fill_weights(sharding);
  AdamW optimizer(sharding, {.epsilon = job.epsilon, .weight_decay = 0.01, .clip_norm = 1.0});
  Numbers out;
  for (std::int64_t step = 0; step < job.steps; ++step) {
    sharding.begin_step();
    at::Tensor losses =
        run_micro_steps(model, sharding, windows, job.plan, static_cast<std::uint64_t>(step));
    sharding.sum_over_ranks(losses);
    const UpdateResult update = optimizer.step(1e-3);
    for (std::int64_t i = 0; i < 3; ++i) out.losses.push_back(losses[i].item<double>());
    out.norms.push_back(update.grad_norm.item<double>());
  }
  for (Unit& unit : sharding.units()) out.states.push_back(unit.states());
  return out;
}

}  // namespace wam::test
