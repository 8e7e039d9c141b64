#include "apps/wamtrain/training_parts.h"

#include <string>

#include "apps/wamtrain/read_limit.h"
#include "apps/wamtrain/run_device.h"
#include "core/base/names.h"
#include "parallel/strategies/sharded_units.h"

namespace wam {
namespace {

std::string data_advice(const ResolvedRecipe& recipe) {
  return fmt::format("data.workers above {}", recipe.data.workers);
}

}  // namespace

std::string communication_advice(const ParallelSection& parallel, const LaunchEnv& env) {
  std::vector<std::string> settings;
  if (parallel.reduce == ReduceTime::kEach) settings.emplace_back("parallel.reduce: last");
  if (parallel.reduce_dtype == ReduceType::kFp32) {
    settings.emplace_back("parallel.reduce_dtype: bf16");
  }
  if (parallel.strategy == ShardingStrategy::kFullShard) {
    settings.emplace_back("parallel.strategy: shard_grad_op where whole weights fit");
    // On one host it would be the same.
    const bool several_hosts = env.world_size > env.local_world_size;
    if (several_hosts) settings.emplace_back("parallel.strategy: hybrid_shard");
  }
  settings.emplace_back("a larger train.micro_batch or train.global_batch");
  return join(settings);
}

std::unique_ptr<WamModel> make_model(const ResolvedRecipe& recipe,
                                     c10::Device device,
                                     FrozenEncoders& encoders,
                                     StepClock& clock,
                                     GraphObserver* observer) {
  return std::make_unique<WamModel>(
      WamModel::Options{.config = recipe.model.config,
                        .compute_type = compute_type(recipe),
                        .device = device,
                        .recompute = recipe.options.memory.plan(),
                        .graphs = uses_graphs(recipe, device),
                        .graph_observer = observer,
                        .clock = &clock,
                        .deterministic = recipe.options.precision.deterministic},
      encoders);
}

std::unique_ptr<Sharding> make_sharding(const ResolvedRecipe& recipe,
                                        c10::Device device,
                                        const std::vector<UnitSpec>& units,
                                        const Layout& layout,
                                        const MeshAxes& axes) {
  const ParallelSection& section = recipe.options.parallel;
  return std::make_unique<ShardedUnits>(
      units, ShardedUnits::Options{.device = device,
                                   .compute_type = compute_type(recipe),
                                   .state_type = state_type(recipe),
                                   .state_on_host = offloads_state(recipe),
                                   .shards_weights = layout.shards_weights,
                                   .weights_on_host = layout.weights_on_host,
                                   .reduce = section.reduce,
                                   .reduce_type = reduce_type(recipe),
                                   .axes = axes});
}

std::unique_ptr<AdamW> make_optimizer(const ResolvedRecipe& recipe,
                                      c10::Device device,
                                      Sharding& units,
                                      GraphObserver* observer) {
  const TrainSection& train = recipe.train.options;
  return std::make_unique<AdamW>(units,
                                 AdamWOptions{.beta1 = train.betas[0],
                                              .beta2 = train.betas[1],
                                              .epsilon = train.epsilon,
                                              .weight_decay = train.weight_decay,
                                              .clip_norm = train.clip_norm},
                                 uses_graphs(recipe, device) && !offloads_state(recipe), observer);
}

LoaderOptions loader_options(const ResolvedRecipe& recipe,
                             c10::Device device,
                             std::uint64_t first_sample,
                             const LaunchEnv& env) {
  const TrainSection& train = recipe.train.options;
  LoaderOptions options;
  options.plan.global_batch = static_cast<std::uint64_t>(train.global_batch);
  options.plan.micro_batch = train.micro_batch;
  options.plan.rank = env.global_rank;
  options.plan.world = env.world_size;
  options.plan.start = first_sample;
  options.plan.repeat_batch = recipe.options.data.repeat_batch;
  options.workers = recipe.data.workers;
  options.prefetch_samples = recipe.data.prefetch_samples;
  options.stall_limit = read_limit(recipe.options.run);
  options.memory = device.is_cuda() ? HostMemory::kPinned : HostMemory::kPageable;
  options.pictures = recipe.options.data.transform_on == TransformOn::kGpu
                         ? BatchPictures::kRaw
                         : BatchPictures::kTransformed;
  return options;
}

BadSampleRule bad_sample_rule(const ResolvedRecipe& recipe, const WindowDataset& split) {
  const DataSection& data = recipe.options.data;
  return {.replaces = data.on_bad_sample == OnBadSample::kSkip,
          .limit = data.max_bad_samples,
          .sizes = split.member_sizes(),
          .seed = recipe.options.run.seed};
}

MixtureDraw mixture_draw(const ResolvedRecipe& recipe) {
  return recipe.options.data.bug_compatible ? MixtureDraw::kReference : MixtureDraw::kExact;
}

LoopOptions loop_options(const ResolvedRecipe& recipe, c10::Device device, const LaunchEnv& env) {
  LoopOptions options;
  options.steps = recipe.train.options.steps;
  options.global_batch = recipe.train.options.global_batch;
  options.log_every = recipe.options.log.every;
  options.checkpoint_every = recipe.options.checkpoint.every;
  options.checkpoint_at_end = recipe.options.checkpoint.at_end;
  options.skips_when_busy = recipe.options.checkpoint.when_busy == WhenBusy::kSkip;
  options.validate_every = recipe.options.validate.every;
  options.max_nonfinite = recipe.train.options.max_nonfinite;
  options.max_bad_samples = recipe.options.data.max_bad_samples;
  options.reads_late = device.is_cuda();
  options.seed = recipe.options.run.seed;
  options.run_folder = recipe.options.run.dir;
  options.schedule = recipe.train.make_schedule();
  options.advice = {.communication = communication_advice(recipe.options.parallel, env),
                    .data = data_advice(recipe)};
  return options;
}

}  // namespace wam
