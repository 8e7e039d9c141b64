#include "apps/wamtrain/bench/units.h"

#include "apps/wamtrain/bench/synthetic.h"
#include "apps/wamtrain/plan.h"
#include "parallel/estimate/memory.h"
#include "parallel/mesh/mesh.h"
#include "parallel/strategies/sharded_units.h"

namespace wam {

BenchMesh assumed_shard(int ranks) {
  const Layout layout{.world = ranks, .shard_ranks = ranks, .shards_weights = true};
  return {.layout = layout, .axes = absent_mesh(layout, 0), .reduce = ReduceTime::kEach};
}

std::unique_ptr<Sharding> make_bench_units(std::vector<UnitSpec> specs, const BenchUnits& options) {
  if (options.state == HoldsState::kNo) {
    for (auto& spec : specs) spec.state_arrays.clear();
  }
  auto out = std::make_unique<ShardedUnits>(
      specs, ShardedUnits::Options{.device = options.device,
                                   .compute_type = options.compute_type,
                                   .state_type = options.state_type,
                                   .state_on_host = options.state_on_host,
                                   .shards_weights = options.mesh.layout.shards_weights,
                                   .weights_on_host = options.mesh.layout.weights_on_host,
                                   .reduce = options.mesh.reduce,
                                   .reduce_type = options.reduce_type,
                                   .axes = options.mesh.axes});
  fill_units(*out);
  return out;
}

std::int64_t planned_bytes(const std::vector<UnitSpec>& specs, const BenchUnits& options) {
  const Layout& layout = options.mesh.layout;
  const SpreadMemory memory =
      memory_of(unit_loads(specs),
                {.gpus = layout.world,
                 .shard_size = layout.shard_ranks,
                 .shards_weights = layout.shards_weights,
                 .reduces_each = options.mesh.reduce == ReduceTime::kEach,
                 .weights_on_host = layout.weights_on_host,
                 .compute_bytes = static_cast<std::int64_t>(at::elementSize(options.compute_type)),
                 .reduce_bytes = static_cast<std::int64_t>(at::elementSize(options.reduce_type))});
  return memory.weights + memory.gradients;
}

}  // namespace wam
