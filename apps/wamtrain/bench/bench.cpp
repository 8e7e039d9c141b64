#include "apps/wamtrain/bench/bench.h"

#include "apps/wamtrain/bench/comm_bench.h"
#include "apps/wamtrain/bench/context.h"
#include "apps/wamtrain/bench/data_bench.h"
#include "apps/wamtrain/bench/encoders_bench.h"
#include "apps/wamtrain/bench/model_bench.h"
#include "apps/wamtrain/bench/optimizer_bench.h"
#include "apps/wamtrain/bench/steps_bench.h"
#include "apps/wamtrain/run_device.h"
#include "core/base/errors.h"
#include "core/cuda/device.h"

namespace wam {
namespace {

void check_fits(const ResolvedRecipe& recipe, const BenchOptions& options, const LaunchEnv& env) {
  require<ConfigError>(!options.save || env.local_world_size == env.world_size,
                       "--save: rates are those inside one machine, and this start has {} of its "
                       "{} ranks here. Fix: start all ranks on one machine.",
                       env.local_world_size, env.world_size);
  const std::int64_t longest = recipe.model.config.text_length;
  require<ConfigError>(options.text_rows.value_or(1) <= longest,
                       "--text-rows {}: the model reads {} at most. Fix: give 1 to {}.",
                       options.text_rows.value_or(1), longest, longest);
}

BenchMesh mesh_of(const ResolvedRecipe& recipe,
                  const BenchOptions& options,
                  Ranks& ranks,
                  c10::Device device) {
  if (options.assume_world) return assumed_shard(static_cast<int>(*options.assume_world));
  const ParallelSection& parallel = recipe.options.parallel;
  const Layout layout = layout_of(parallel, ranks.env().world_size, ranks.env().local_world_size);
  return {.layout = layout, .axes = ranks.connect(layout, device), .reduce = parallel.reduce};
}

BenchResult run_one(const BenchContext& context) {
  switch (context.options.what) {
    case BenchWhat::kModel:
      return bench_model(context);
    case BenchWhat::kEncoders:
      return bench_encoders(context);
    case BenchWhat::kOptimizer:
      return bench_optimizer(context);
    case BenchWhat::kStep:
      return bench_step(context);
    case BenchWhat::kLoop:
      return bench_loop(context);
    case BenchWhat::kComm:
      return bench_comm(context);
    case BenchWhat::kData:
      return bench_data(context);
  }
  throw InvariantError("an unknown benchmark");
}

}  // namespace

BenchResult run_bench(const ResolvedRecipe& recipe,
                      const BenchOptions& options,
                      Ranks& ranks,
                      BenchOrigin& origin,
                      Log& log) {
  check_fits(recipe, options, ranks.env());
  const c10::Device device = resolve_device(recipe, ranks.env());
  prepare_device({.device = device,
                  .cpu_threads = static_cast<int>(recipe.threads),
                  .deterministic = recipe.options.precision.deterministic});
  origin.card = describe_device(device);
  origin.memory_bytes = device_memory(device).total_bytes;
  // Loader and links have nothing to do with it.
  const bool about_card = options.what != BenchWhat::kData && options.what != BenchWhat::kComm;
  if (options.ceiling_seconds > 0 && about_card) {
    log.info("measuring what the device can do");
    origin.ceilings = measure_ceilings(device, options.ceiling_seconds);
  }
  return run_one({.recipe = recipe,
                  .options = options,
                  .device = device,
                  .type = compute_type(recipe),
                  .ceilings = origin.ceilings,
                  .ranks = ranks,
                  .mesh = mesh_of(recipe, options, ranks, device),
                  .log = log});
}

}  // namespace wam
