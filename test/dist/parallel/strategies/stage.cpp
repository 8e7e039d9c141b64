#include "test/dist/parallel/strategies/stage.h"

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include "core/base/errors.h"

namespace wam::test {

std::string in_words(const Case& c) {
  return fmt::format("{}, offload {}, reduce {}, recompute {}, {}, {} micro-steps of {}",
                     name_of(c.strategy), name_of(c.offload), name_of(c.reduce),
                     name_of(c.recompute), c10::toString(c.type), c.job.plan.micro_steps(),
                     c.job.plan.micro_batch);
}

Stage::Stage(const std::string& run_dir)
    : env_(read_launch_env(process_environment())),
      gathering_(env_, {.run_dir = run_dir, .time_limit = std::chrono::seconds(60)}) {}

std::vector<ShardingStrategy> Stage::strategies() const {
  std::vector<ShardingStrategy> out;
  for (const auto& [strategy, name] : EnumNames<ShardingStrategy>::table) {
    const bool grouped = strategy == ShardingStrategy::kHybridShard;
    if (!grouped || env_.world_size % kGroup == 0) out.push_back(strategy);
  }
  return out;
}

Layout Stage::layout(const Case& c) const {
  ParallelSection section;
  section.strategy = c.strategy;
  if (c.strategy == ShardingStrategy::kHybridShard) section.shard_size = kGroup;
  return layout_of(section, env_.world_size, env_.world_size);
}

BatchPlan Stage::plan(std::uint64_t global_batch, std::int64_t micro_batch) const {
  return {.global_batch = global_batch,
          .micro_batch = micro_batch,
          .rank = env_.global_rank,
          .world = env_.world_size};
}

const MeshAxes& Stage::axes(const Layout& layout) {
  const auto found = axes_.find(layout.shard_ranks);
  if (found != axes_.end()) return found->second;
  // The same store for every layout, whose groups have the same names.
  const auto store = c10::make_intrusive<c10d::PrefixStore>(fmt::format("{}", layout.shard_ranks),
                                                            gathering_.shared_store());
  return axes_[layout.shard_ranks] = connect_mesh(
             layout, env_, store, {.time_limit = std::chrono::seconds(60), .progress = &progress_});
}

WamModel& Stage::model(const Case& c) {
  auto& held = models_[{c.type, c.recompute}];
  if (!held) held = std::make_unique<SmallModel>(c.type, c.recompute);
  return held->model;
}

ShardedUnits Stage::make_sharding(const Case& c, at::ScalarType reduce_type) {
  const Layout arrangement = layout(c);
  return {model(c).units(),
          {.compute_type = c.type,
           .state_type = c.type,
           .state_on_host = c.offload != Offload::kNone,
           .shards_weights = arrangement.shards_weights,
           .weights_on_host = arrangement.weights_on_host,
           .reduce = c.reduce,
           .reduce_type = reduce_type,
           .axes = axes(arrangement)}};
}

ShardedUnits Stage::make_lone_sharding(const Case& c) {
  return {model(c).units(), {.compute_type = c.type, .state_type = c.type}};
}

}  // namespace wam::test
