#pragma once

#include <cstdint>
#include <vector>

#include "parallel/estimate/spread.h"

namespace wam {

// What one GPU sends to others in an optimizer step, in bytes, with rings: of a buffer of N bytes,
// n ranks send N (n - 1) / n each for an all-gather or a reduce-scatter, twice that for an
// all-reduce.
struct StepTraffic {
  double gather = 0;    // weights, inside the shard group
  double reduce = 0;    // gradients, inside the shard group
  double replicas = 0;  // gradients, between those that hold the same shard
  double uploads = 0;   // weights from host memory; these are not sent, and not in the total

  [[nodiscard]] double total() const noexcept { return gather + reduce + replicas; }
};

// One call. What travels: weights of a block that is not held are gathered for the forward and for
// the backward of every micro-step (the last two blocks once); those that are held, and all weights
// where they stay whole, once after the update. Gradients are reduced in the last micro-step, or,
// inside the shard group, in each.
StepTraffic traffic_of(const std::vector<UnitLoad>& units,
                       const Spread& spread,
                       std::int64_t micro_steps);

// Sent by one of `ranks`, of a buffer of `bytes`.
double ring_bytes(std::int64_t ranks, double bytes);

// Blocks at the end whose weights stay in their slots between forward and backward.
inline constexpr std::size_t kBlocksKept = 2;

// How often a micro-step fills a slot with each unit's weights (gathers them, where there are
// several ranks): 0, 1 or 2.
std::vector<int> fills_of_micro_step(const std::vector<UnitLoad>& units, const Spread& spread);
// Whether they are gathered after an update.
bool is_gathered_after_update(const UnitLoad& unit, const Spread& spread);

}  // namespace wam
