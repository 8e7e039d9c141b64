#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace wam {

// A unit as a strategy sees it.
struct UnitLoad {
  std::int64_t trainable_numel = 0;  // padded
  std::int64_t frozen_numel = 0;     // whole on every GPU
  // Embeddings and head: their weights stay whole on every GPU.
  bool held_throughout = false;
  double forward_s = 0;   // of one micro-step, without communication
  double backward_s = 0;  // recomputation included
};

// Ranks that communicate with each other.
struct RankGroup {
  std::int64_t ranks = 1;
  std::int64_t nodes = 1;  // that they are on, equally many on each

  [[nodiscard]] std::int64_t ranks_of_a_node() const noexcept { return ranks / nodes; }
};

// How a run lies on GPUs. The strategies of the recipe in these terms:
//   no_shard       shard_size 1
//   shard_grad_op  shard_size = gpus
//   full_shard     shard_size = gpus, shards_weights
//   hybrid_shard   shard_size < gpus, shards_weights
struct Spread {
  std::int64_t gpus = 1;
  std::int64_t nodes = 1;
  std::int64_t shard_size = 1;  // GPUs that share one copy of the optimizer's state
  bool shards_weights = false;  // each block is gathered when it is needed
  bool reduces_each = false;    // gradients are reduced after every micro-step, not after the last
  bool state_on_host = false;   // master weights and moments, and the update
  // Blocks' weights as well, in the shards of the state; each is uploaded when it is needed.
  bool weights_on_host = false;
  std::int64_t compute_bytes = 2;  // of a weight
  std::int64_t reduce_bytes = 4;   // of a gradient on its way

  [[nodiscard]] std::int64_t gpus_of_a_node() const noexcept { return gpus / nodes; }
  [[nodiscard]] std::int64_t replicas() const noexcept { return gpus / shard_size; }
  // Neighbouring ranks share a copy; the ranks that hold the same shard are the other group.
  [[nodiscard]] RankGroup shard_group() const noexcept;
  [[nodiscard]] RankGroup replica_group() const noexcept;
};

// What is contradictory, in words that end in a fix; empty: nothing.
std::vector<std::string> problems_of(const Spread& spread);

}  // namespace wam
