#include "parallel/estimate/memory.h"

#include <algorithm>

namespace wam {
namespace {

constexpr std::int64_t kGradientBytes = 4;
constexpr std::int64_t kStateBytes = 12;

struct Numels {
  std::int64_t all = 0;
  std::int64_t frozen = 0;
  std::int64_t shard = 0;
  std::int64_t block_shard = 0;  // of the units that are not held
  std::int64_t largest_block_shard = 0;
  std::int64_t held = 0;
  std::int64_t largest_block = 0;
  std::int64_t largest = 0;
};

Numels count(const std::vector<UnitLoad>& units, std::int64_t shard_size) {
  Numels out;
  for (const UnitLoad& unit : units) {
    out.all += unit.trainable_numel;
    out.frozen += unit.frozen_numel;
    const std::int64_t shard = (unit.trainable_numel + shard_size - 1) / shard_size;
    out.shard += shard;
    out.largest = std::max(out.largest, unit.trainable_numel);
    if (unit.held_throughout) {
      out.held += unit.trainable_numel;
    } else {
      out.block_shard += shard;
      out.largest_block_shard = std::max(out.largest_block_shard, shard);
      out.largest_block = std::max(out.largest_block, unit.trainable_numel);
    }
  }
  return out;
}

}  // namespace

SpreadMemory memory_of(const std::vector<UnitLoad>& units, const Spread& spread) {
  const Numels n = count(units, spread.shard_size);
  const std::int64_t slots = kUnitSlots * n.largest_block + n.held;
  const bool is_alone = spread.shard_size == 1;
  SpreadMemory out;
  std::int64_t weights = spread.shards_weights && !is_alone ? n.block_shard + slots : n.all;
  // In place of a rank's shards, the one that is on its way to the others.
  if (spread.weights_on_host) weights = slots + (is_alone ? 0 : n.largest_block_shard);
  out.weights = spread.compute_bytes * (weights + n.frozen);
  out.gradients =
      kGradientBytes * (spread.reduces_each && spread.gpus > 1 ? n.shard + slots : n.all);
  if (spread.reduce_bytes != kGradientBytes && spread.gpus > 1) {
    out.gradients += spread.reduce_bytes * n.largest;
  }
  const std::int64_t state = kStateBytes * n.shard;
  out.optimizer = spread.state_on_host ? 0 : state;
  if (spread.state_on_host) out.host += state * spread.gpus_of_a_node();
  if (spread.weights_on_host) {
    out.host += spread.compute_bytes * n.block_shard * spread.gpus_of_a_node();
  }
  return out;
}

}  // namespace wam
