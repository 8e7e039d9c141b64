#include "parallel/strategies/layout.h"

#include "core/base/errors.h"
#include "test/support/catch.h"

using Catch::Contains;
using wam::Layout;
using wam::layout_of;
using wam::ShardingStrategy;

namespace {

wam::ParallelSection section(ShardingStrategy strategy,
                             std::optional<std::int64_t> shard_size = {}) {
  wam::ParallelSection out;
  out.strategy = strategy;
  out.shard_size = shard_size;
  return out;
}

}  // namespace

TEST_CASE("Layout: every strategy divides the ranks into shards and replicas of them") {
  const auto expect = [](const Layout& found, int shard_ranks, int replicas, bool weights) {
    CHECK(found.shard_ranks == shard_ranks);
    CHECK(found.replicas() == replicas);
    CHECK(found.shards_weights == weights);
  };
  expect(layout_of(section(ShardingStrategy::kNoShard), 8, 4), 1, 8, false);
  expect(layout_of(section(ShardingStrategy::kShardGradOp), 8, 4), 8, 1, false);
  expect(layout_of(section(ShardingStrategy::kFullShard), 8, 4), 8, 1, true);
  expect(layout_of(section(ShardingStrategy::kHybridShard, 2), 8, 4), 2, 4, true);
}

TEST_CASE("Layout: weights in host memory lie there in the shards of the state") {
  auto with_params = section(ShardingStrategy::kShardGradOp);
  with_params.offload = wam::Offload::kOptimizerAndParams;
  const Layout found = layout_of(with_params, 8, 4);
  CHECK(found.weights_on_host);
  CHECK(found.shards_weights);
  CHECK(found.shard_ranks == 8);

  with_params.offload = wam::Offload::kOptimizer;
  CHECK_FALSE(layout_of(with_params, 8, 4).weights_on_host);
  CHECK_FALSE(layout_of(with_params, 8, 4).shards_weights);
}

TEST_CASE("Layout: hybrid_shard's group is a host's ranks where the recipe leaves it open") {
  CHECK(layout_of(section(ShardingStrategy::kHybridShard), 8, 4).shard_ranks == 4);
  CHECK(layout_of(section(ShardingStrategy::kHybridShard), 1, 1).shard_ranks == 1);
}

TEST_CASE("Layout: a group that does not divide the ranks is an error that names both") {
  CHECK_THROWS_WITH(
      layout_of(section(ShardingStrategy::kHybridShard, 3), 8, 4),
      Contains("parallel.shard_size: 3 ranks in a group, but 8 ranks do not divide") &&
          Contains("Fix: set a number that divides 8"));
  CHECK_THROWS_AS(layout_of(section(ShardingStrategy::kHybridShard, 16), 8, 4), wam::ConfigError);
  // Hosts of different sizes.
  CHECK_THROWS_WITH(layout_of(section(ShardingStrategy::kHybridShard), 7, 4),
                    Contains("4 ranks in a group, but 7 ranks"));
}
