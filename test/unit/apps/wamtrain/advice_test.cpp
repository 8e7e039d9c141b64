#include "apps/wamtrain/training_parts.h"
#include "test/support/catch.h"

using wam::LaunchEnv;
using wam::ParallelSection;
using wam::ReduceTime;
using wam::ReduceType;
using wam::ShardingStrategy;

namespace {

// On `world` ranks, eight a host.
std::string advice(ShardingStrategy strategy, ReduceTime time, ReduceType type, int world) {
  ParallelSection parallel;
  parallel.strategy = strategy;
  parallel.reduce = time;
  parallel.reduce_dtype = type;
  LaunchEnv env;
  env.world_size = world;
  env.local_world_size = 8;
  return wam::communication_advice(parallel, env);
}

}  // namespace

TEST_CASE("advice: what would lessen the waits for other ranks, and is not set already") {
  using enum ShardingStrategy;
  const std::string larger = "a larger train.micro_batch or train.global_batch";
  const std::string whole = "parallel.strategy: shard_grad_op where whole weights fit, ";

  CHECK(advice(kNoShard, ReduceTime::kEach, ReduceType::kFp32, 8) ==
        "parallel.reduce: last, parallel.reduce_dtype: bf16, " + larger);
  CHECK(advice(kShardGradOp, ReduceTime::kLast, ReduceType::kBf16, 16) == larger);
  CHECK(advice(kFullShard, ReduceTime::kLast, ReduceType::kBf16, 8) == whole + larger);
  CHECK(advice(kFullShard, ReduceTime::kLast, ReduceType::kBf16, 16) ==
        whole + "parallel.strategy: hybrid_shard, " + larger);
}
