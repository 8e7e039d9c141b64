#include "apps/wamtrain/plan.h"

#include <algorithm>

#include "apps/wamtrain/datasets.h"
#include "apps/wamtrain/encoders.h"
#include "apps/wamtrain/latents.h"
#include "apps/wamtrain/run_device.h"
#include "core/base/errors.h"
#include "core/base/format.h"
#include "core/cuda/device.h"
#include "models/wam/memory.h"
#include "models/wam/parameters.h"
#include "parallel/estimate/memory.h"

namespace wam {
namespace {

constexpr std::int64_t kFp32Bytes = 4;

// "blocks.12" -> "blocks".
std::string group_of(const UnitSpec& unit) {
  return unit.name.substr(0, unit.name.find('.'));
}

// Weights, gradients and optimizer state on one rank of the layout.
void plan_state(const ResolvedRecipe& recipe,
                const Layout& layout,
                const std::vector<UnitSpec>& units,
                Plan& plan) {
  const ParallelSection& section = recipe.options.parallel;
  const auto loads = unit_loads(units);
  Spread spread{.gpus = layout.world,
                .shard_size = layout.shard_ranks,
                .shards_weights = layout.shards_weights,
                .reduces_each = section.reduce == ReduceTime::kEach,
                .state_on_host = offloads_state(recipe),
                .weights_on_host = layout.weights_on_host,
                .compute_bytes = static_cast<std::int64_t>(c10::elementSize(compute_type(recipe))),
                .reduce_bytes = section.reduce_dtype == ReduceType::kBf16 ? 2 : kFp32Bytes};
  // The formulas count fp32; state and gradients of fp64 are twice as long.
  const auto wide = static_cast<std::int64_t>(c10::elementSize(state_type(recipe))) / kFp32Bytes;
  const SpreadMemory memory = memory_of(loads, spread);
  plan.weight_bytes = memory.weights;
  plan.gradient_bytes = wide * memory.gradients;
  plan.host_bytes = wide * memory.host / layout.world;
  plan.optimizer_bytes = wide * memory.optimizer + plan.host_bytes;
  spread = {};
  plan.checkpoint_bytes = wide * memory_of(loads, spread).optimizer;
}

void plan_model(const ResolvedRecipe& recipe, const Layout& layout, Plan& plan) {
  const auto compute_bytes = static_cast<std::int64_t>(c10::elementSize(compute_type(recipe)));
  const auto units = wam_units(recipe.model.config);
  for (const auto& unit : units) {
    const auto parameters = parameter_count({unit});
    if (plan.units.empty() || plan.units.back().name != group_of(unit)) {
      plan.units.push_back({.name = group_of(unit)});
    }
    plan.units.back().units += 1;
    plan.units.back().parameters += parameters;
    plan.parameters += parameters;
  }
  plan_state(recipe, layout, units, plan);
  plan.encoder_bytes =
      caches_latents(recipe)
          ? 0
          : (vae_part(recipe).model.needed_numel() + image_part(recipe).model.needed_numel()) *
                compute_bytes;
  const MicroBatchShape shape{
      .samples = std::min(recipe.train.options.micro_batch, recipe.train.options.global_batch),
      .blocks = recipe.model.config.max_blocks,
      .text_rows = recipe.model.config.text_length,
      .compute_type = compute_type(recipe)};
  for (const auto& [policy, name] : EnumNames<RecomputePolicy>::table) {
    RecomputePlan recompute = recipe.options.memory.plan();
    recompute.policy = policy;
    plan.activation_bytes.emplace_back(name,
                                       activation_bytes(recipe.model.config, shape, recompute));
  }
}

void plan_data(const ResolvedRecipe& recipe, Plan& plan) {
  const auto counts = count_windows(dataset_options(recipe));
  for (std::size_t i = 0; i < counts.size(); ++i) {
    plan.datasets.push_back(
        {.path = recipe.options.data.datasets[i].path.string(),
         .training_episodes = static_cast<std::int64_t>(counts[i].training_episodes),
         .held_back_episodes = static_cast<std::int64_t>(counts[i].held_back_episodes),
         .training_windows = static_cast<std::int64_t>(counts[i].training_windows),
         .held_back_windows = static_cast<std::int64_t>(counts[i].held_back_windows)});
    plan.windows += plan.datasets.back().training_windows;
  }
}

}  // namespace

std::int64_t Plan::memory_bytes(const std::string& policy) const {
  std::int64_t bytes = weight_bytes + gradient_bytes + optimizer_bytes - host_bytes + encoder_bytes;
  for (const auto& [name, activations] : activation_bytes) {
    if (name == policy) bytes += activations;
  }
  return bytes;
}

std::vector<UnitLoad> unit_loads(const std::vector<UnitSpec>& units) {
  std::vector<UnitLoad> out;
  for (const UnitSpec& unit : units) {
    out.push_back({.trainable_numel = unit.trainable_numel,
                   .frozen_numel = unit.numel - unit.trainable_numel,
                   .held_throughout = unit.held_throughout});
  }
  return out;
}

Plan plan_memory(const ResolvedRecipe& recipe, const Layout& layout) {
  Plan plan;
  plan_model(recipe, layout, plan);
  plan.recompute = name_of(recipe.options.memory.recompute);
  return plan;
}

void say_memory(const Plan& plan, c10::Device device, Log& log) {
  const auto bytes = [](std::int64_t value) { return human_bytes(static_cast<double>(value)); };
  const std::int64_t optimizer = plan.optimizer_bytes - plan.host_bytes;
  const std::int64_t state = plan.weight_bytes + plan.gradient_bytes + optimizer;
  const std::int64_t needed = plan.memory_bytes(plan.recompute);
  log.info(fmt::format("memory: weights {}, gradients {}, optimizer {}, activations {} ({})",
                       bytes(plan.weight_bytes), bytes(plan.gradient_bytes), bytes(optimizer),
                       bytes(needed - state - plan.encoder_bytes), plan.recompute));
  if (plan.host_bytes > 0) {
    log.info(fmt::format("host memory: optimizer {} (parallel.offload)", bytes(plan.host_bytes)));
  }
  const std::int64_t there = device_memory(device).total_bytes;
  if (needed <= there) return;
  log.warn(
      fmt::format("about {} are needed, and {} has {}: the run will probably not fit. Smaller: "
                  "train.micro_batch, memory.recompute: full",
                  bytes(needed), describe_device(device), bytes(there)));
}

void check_host_memory(std::int64_t needed) {
  if (needed == 0) return;
  const std::int64_t free_bytes = device_memory(c10::kCPU).free_bytes;
  require<ConfigError>(
      needed <= free_bytes,
      "parallel.offload: optimizer keeps {} of master weights and moments in host memory, and this "
      "machine has {} to give. Fix: parallel.offload: none, or a machine with more memory.",
      human_bytes(static_cast<double>(needed)), human_bytes(static_cast<double>(free_bytes)));
}

Plan make_plan(const ResolvedRecipe& recipe) {
  Plan plan = plan_memory(recipe);
  plan_data(recipe, plan);
  const auto& train = recipe.train.options;
  plan.micro_steps = (train.global_batch + train.micro_batch - 1) / train.micro_batch;
  plan.steps_per_epoch = (plan.windows + train.global_batch - 1) / train.global_batch;
  plan.epochs =
      static_cast<double>(train.steps * train.global_batch) / static_cast<double>(plan.windows);
  return plan;
}

}  // namespace wam
