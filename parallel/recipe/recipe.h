#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "core/base/names.h"
#include "core/recipe/field.h"

// The recipe's words for how a run is spread over GPUs.

namespace wam {

enum class ShardingStrategy { kNoShard };
template <>
struct EnumNames<ShardingStrategy> {
  static constexpr std::array table{
      std::pair{ShardingStrategy::kNoShard, std::string_view("no_shard")}};
};
template <>
struct PlannedNames<ShardingStrategy> {
  static constexpr std::array<std::string_view, 3> table{"shard_grad_op", "full_shard",
                                                         "hybrid_shard"};
};

struct ParallelSection {
  ShardingStrategy strategy = ShardingStrategy::kNoShard;

  template <class V>
  void fields(V&& v) {
    v("strategy", strategy, "How parameters, gradients and optimizer states lie on the GPUs.");
  }
};

}  // namespace wam
