#include "parallel/strategies/layout.h"

#include <algorithm>

#include "core/base/errors.h"

namespace wam {
namespace {

int shard_group(const ParallelSection& section, int world, int ranks_on_host) {
  const auto wanted = section.shard_size.value_or(std::min(world, ranks_on_host));
  require<ConfigError>(wanted <= world && world % wanted == 0,
                       "parallel.shard_size: {} ranks in a group, but {} ranks do not divide into "
                       "such groups. Fix: set a number that divides {}, or start another number of "
                       "ranks.",
                       wanted, world, world);
  return static_cast<int>(wanted);
}

Layout layout_of_strategy(const ParallelSection& section, int world, int ranks_on_host) {
  switch (section.strategy) {
    case ShardingStrategy::kNoShard:
      return {.world = world, .shard_ranks = 1, .shards_weights = false};
    case ShardingStrategy::kShardGradOp:
      return {.world = world, .shard_ranks = world, .shards_weights = false};
    case ShardingStrategy::kFullShard:
      return {.world = world, .shard_ranks = world, .shards_weights = true};
    case ShardingStrategy::kHybridShard:
      return {.world = world,
              .shard_ranks = shard_group(section, world, ranks_on_host),
              .shards_weights = true};
  }
  throw InvariantError("a sharding strategy without a layout");
}

}  // namespace

Layout layout_of(const ParallelSection& section, int world, int ranks_on_host) {
  Layout out = layout_of_strategy(section, world, ranks_on_host);
  if (section.offload == Offload::kOptimizerAndParams) {
    out.weights_on_host = true;
    out.shards_weights = true;  // the update writes each rank's shard of them there
  }
  return out;
}

}  // namespace wam
