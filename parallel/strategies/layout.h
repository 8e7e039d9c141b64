#pragma once

#include "parallel/recipe/recipe.h"

namespace wam {

// How a strategy arranges `world` ranks: groups of `shard_ranks` consecutive ones hold a unit's
// shards, and each group holds them all.
struct Layout {
  int world = 1;
  int shard_ranks = 1;
  bool shards_weights = false;  // else every rank has all weights
  // A rank's weights of blocks lie in host memory, in the shards of the state.
  bool weights_on_host = false;

  [[nodiscard]] int replicas() const noexcept { return world / shard_ranks; }
};

// The strategy of the recipe: each is one line. `ranks_on_host` is what parallel.shard_size: auto
// stands for. Errors: ConfigError when shard_size does not divide the number of ranks.
Layout layout_of(const ParallelSection& section, int world, int ranks_on_host);

}  // namespace wam
