#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "core/base/names.h"
#include "core/recipe/field.h"

// The recipe's words for how a run is spread over GPUs.

namespace wam {

enum class ShardingStrategy { kNoShard, kShardGradOp, kFullShard, kHybridShard };
template <>
struct EnumNames<ShardingStrategy> {
  static constexpr std::array table{
      std::pair{ShardingStrategy::kNoShard, std::string_view("no_shard")},
      std::pair{ShardingStrategy::kShardGradOp, std::string_view("shard_grad_op")},
      std::pair{ShardingStrategy::kFullShard, std::string_view("full_shard")},
      std::pair{ShardingStrategy::kHybridShard, std::string_view("hybrid_shard")}};
};

enum class ReduceTime { kLast, kEach };
template <>
struct EnumNames<ReduceTime> {
  static constexpr std::array table{std::pair{ReduceTime::kLast, std::string_view("last")},
                                    std::pair{ReduceTime::kEach, std::string_view("each")}};
};

enum class ReduceType { kFp32, kBf16 };
template <>
struct EnumNames<ReduceType> {
  static constexpr std::array table{std::pair{ReduceType::kFp32, std::string_view("fp32")},
                                    std::pair{ReduceType::kBf16, std::string_view("bf16")}};
};

enum class Offload { kNone, kOptimizer, kOptimizerAndParams };
template <>
struct EnumNames<Offload> {
  static constexpr std::array table{
      std::pair{Offload::kNone, std::string_view("none")},
      std::pair{Offload::kOptimizer, std::string_view("optimizer")},
      std::pair{Offload::kOptimizerAndParams, std::string_view("optimizer+params")}};
};

struct ParallelSection {
  ShardingStrategy strategy = ShardingStrategy::kNoShard;
  std::optional<std::int64_t> shard_size;
  ReduceTime reduce = ReduceTime::kLast;
  ReduceType reduce_dtype = ReduceType::kFp32;
  Offload offload = Offload::kNone;

  template <class V>
  void fields(V&& v) {
    v("strategy", strategy,
      "How parameters, gradients and optimizer states lie on the ranks. no_shard: all of it on "
      "every rank. shard_grad_op: gradients and optimizer states in shards, weights whole. "
      "full_shard: weights in shards as well, gathered block by block while they are needed. "
      "hybrid_shard: full_shard inside groups of shard_size ranks that hold the same.");
    v("shard_size", shard_size,
      "hybrid_shard: ranks in a group (number); must divide the ranks of the run. auto: the ranks "
      "of one host.",
      at_least(1));
    v("reduce", reduce,
      "When gradients are summed over the ranks. last: in the last micro-step of a step, from a "
      "whole gradient on every rank. each: in every micro-step, which keeps only a shard of it "
      "where the strategy shards gradients: less memory, more traffic.");
    v("reduce_dtype", reduce_dtype,
      "Type in which gradients travel and are summed over ranks. bf16 halves the traffic and loses "
      "digits; a rank's own sum over micro-steps stays fp32.");
    v("offload", offload,
      "What lies in host memory. none: nothing. optimizer: master weights and moments (12 bytes a "
      "parameter), which the CPU updates while gradients and weights are on their way; the same "
      "bits. optimizer+params: also the weights of the blocks (2 bytes a parameter), each uploaded "
      "while it is needed; shard_grad_op then has them in shards, as full_shard.");
  }
};

}  // namespace wam
