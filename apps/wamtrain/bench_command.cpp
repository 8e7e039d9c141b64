#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include <nlohmann/json.hpp>

#include "apps/wamtrain/commands.h"
#include "apps/wamtrain/exit_code.h"
#include "apps/wamtrain/recipe.h"
#include "apps/wamtrain/run_device.h"
#include "apps/wamtrain/version.h"
#include "core/base/errors.h"
#include "core/base/format.h"
#include "core/cuda/device.h"
#include "core/random/counter.h"
#include "models/wam/flops.h"
#include "models/wam/step_graphs.h"
#include "parallel/strategies/no_shard.h"

namespace wam {
namespace {

// Normal values, a function of `which` alone.
at::Tensor draw(std::uint64_t which,
                const std::vector<std::int64_t>& shape,
                at::Device device,
                at::ScalarType type) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  at::Tensor values = at::zeros({count}, at::kFloat);
  CounterStream(1, Purpose::kVideoNoise, which).normals(values.mutable_data_ptr<float>(), count);
  return values.view(shape).to(device, type);
}

// A micro-batch as the encoders would give it.
EncodedBatch synthetic_batch(const WamConfig& c,
                             std::int64_t samples,
                             at::Device device,
                             at::ScalarType type) {
  const std::int64_t frames = 1 + WamConfig::kFramesPerBlock * c.max_blocks;
  const std::int64_t rows = c.target_height / c.vae_stride;
  const std::int64_t columns = c.target_width / c.vae_stride;
  const std::int64_t actions = c.max_blocks * c.actions_per_block;
  EncodedBatch batch;
  batch.latent_BCFYX = draw(1, {samples, c.latent_channels, frames, rows, columns}, device, type);
  if (c.type == ModelType::kI2v) {
    batch.condition_BCFYX =
        draw(2, {samples, 4 + c.latent_channels, frames, rows, columns}, device, type);
  }
  batch.text_BMD = draw(3, {samples, c.text_length, c.text_width}, device, type);
  batch.clip_BMD = draw(4, {samples, c.clip_tokens, c.clip_width}, device, type);
  batch.state_BNS = draw(5, {samples, c.max_blocks, c.state_width}, device, type);
  batch.action_BPA =
      draw(6, {samples, actions, c.action_width}, device, at::kFloat).clamp(-1.0, 1.0);
  batch.action_mask_BPA = at::ones(batch.action_BPA.sizes(), batch.action_BPA.options());
  batch.has_real_action_B = at::ones({samples}, batch.action_BPA.options());
  return batch;
}

// Weights of a plausible size; without optimizer state, which a forward and backward do not touch.
std::unique_ptr<NoShard> bench_units(const Dit& dit, at::Device device, at::ScalarType type) {
  std::vector<UnitSpec> specs = dit.units();
  for (auto& spec : specs) spec.state_arrays.clear();
  auto sharding =
      std::make_unique<NoShard>(specs, NoShard::Options{.device = device, .compute_type = type});
  const at::Tensor pattern = draw(7, {1 << 20}, device, type).mul(0.02);
  for (auto& unit : sharding->units()) {
    for (std::int64_t at = 0; at < unit.compute().numel(); at += pattern.numel()) {
      const std::int64_t count = std::min(pattern.numel(), unit.compute().numel() - at);
      unit.compute().narrow(0, at, count).copy_(pattern.narrow(0, 0, count));
    }
  }
  return sharding;
}

struct Timing {
  double median_s = 0;
  double best_s = 0;
  std::int64_t peak_bytes = 0;
};

Timing time_steps(const ResolvedRecipe& recipe, at::Device device, std::int64_t steps) {
  const WamConfig& config = recipe.model.config;
  const at::ScalarType type = compute_type(recipe);
  const std::int64_t samples = recipe.train.options.micro_batch;
  const auto attention =
      make_attention_engine(device, type, recipe.options.precision.deterministic);
  Dit dit(config, recipe.options.memory.plan(), attention.get());
  const auto sharding = bench_units(dit, device, type);
  const FlowSchedule schedule = flow_schedule(device);
  const EncodedBatch batch = synthetic_batch(config, samples, device, type);
  std::vector<std::uint64_t> ordinals(static_cast<std::size_t>(samples));
  for (std::size_t i = 0; i < ordinals.size(); ++i) ordinals[i] = i;
  const Draws draws = make_draws(1, ordinals, batch.latent_BCFYX.sizes().slice(1).vec(),
                                 batch.action_BPA.sizes().slice(1).vec(), device);
  const double weight = 1.0 / static_cast<double>(samples);
  std::unique_ptr<StepGraphs> graphs;
  if (uses_graphs(recipe, device)) graphs = std::make_unique<StepGraphs>(dit, schedule, device);
  reset_peak_memory(device);
  sharding->begin_step();
  constexpr std::int64_t kWarmUp = 3;
  std::vector<double> seconds;
  for (std::int64_t i = 0; i < kWarmUp + steps; ++i) {
    synchronize_device(device);
    const auto start = std::chrono::steady_clock::now();
    sharding->begin_micro_step(true);
    if (graphs) {
      graphs->run(batch, draws, *sharding, weight);
    } else {
      training_step(dit, batch, draws, schedule, *sharding, loss_weight(weight, batch.text_BMD));
    }
    synchronize_device(device);
    if (i < kWarmUp) continue;
    seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  std::sort(seconds.begin(), seconds.end());
  return {seconds[seconds.size() / 2], seconds.front(), peak_memory_bytes(device)};
}

}  // namespace

int bench_command(const BenchArguments& arguments, OutputFormat format) {
  const auto recipe = load_recipe_file(arguments.recipe.recipe, arguments.recipe.overrides);
  require<ConfigError>(arguments.steps > 0, "--steps {}: expected at least 1. Fix: give a number.",
                       arguments.steps);
  const at::Device device = resolve_device(recipe);
  prepare_device({.device = device,
                  .cpu_threads = static_cast<int>(recipe.threads),
                  .deterministic = recipe.options.precision.deterministic});
  const Timing timing = time_steps(recipe, device, arguments.steps);
  const std::int64_t samples = recipe.train.options.micro_batch;
  const double rate = static_cast<double>(samples) / timing.median_s;
  const double tflops =
      training_flops(recipe.model.config, recipe.model.config.max_blocks) * rate * 1e-12;
  if (format == OutputFormat::kJson) {
    const nlohmann::ordered_json out{{"program", version_line()},
                                     {"device", describe_device(device)},
                                     {"preset", recipe.model.config.preset},
                                     {"micro_batch", samples},
                                     {"recompute", name_of(recipe.options.memory.recompute)},
                                     {"compute", name_of(recipe.options.precision.compute)},
                                     {"forward_backward_s", timing.median_s},
                                     {"forward_backward_best_s", timing.best_s},
                                     {"samples_per_s", rate},
                                     {"model_tflops_per_s", tflops},
                                     {"peak_memory_bytes", timing.peak_bytes}};
    fmt::print("{}\n", out.dump());
    return kExitOk;
  }
  fmt::print(
      "{} on {}\n{}, micro-batch {}, recompute {}, {}: transformer forward + backward\n"
      "median of {}   {:.1f} ms (best {:.1f} ms)\n"
      "rate           {:.2f} samples/s, {:.1f} model TFLOP/s\n"
      "peak memory    {}\n",
      version_line(), describe_device(device), recipe.model.config.preset, samples,
      name_of(recipe.options.memory.recompute), name_of(recipe.options.precision.compute), arguments.steps,
      timing.median_s * 1e3, timing.best_s * 1e3, rate, tflops,
      human_bytes(static_cast<double>(timing.peak_bytes)));
  return kExitOk;
}

}  // namespace wam
