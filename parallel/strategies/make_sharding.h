#pragma once

#include <memory>
#include <vector>

#include "core/train/sharding.h"
#include "parallel/recipe/recipe.h"

namespace wam {

// Where a strategy puts its units, and in what type.
struct ShardingOptions {
  at::Device device = at::kCPU;
  at::ScalarType compute_type = at::kFloat;
};

// The strategy of the recipe: each has one line here.
std::unique_ptr<Sharding> make_sharding(ShardingStrategy strategy,
                                        const std::vector<UnitSpec>& units,
                                        const ShardingOptions& options);

}  // namespace wam
