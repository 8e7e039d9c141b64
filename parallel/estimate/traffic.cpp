#include "parallel/estimate/traffic.h"

namespace wam {

double ring_bytes(std::int64_t ranks, double bytes) {
  return bytes * static_cast<double>(ranks - 1) / static_cast<double>(ranks);
}

std::vector<int> fills_of_micro_step(const std::vector<UnitLoad>& units, const Spread& spread) {
  std::vector<int> out(units.size(), 0);
  const bool in_slots = spread.weights_on_host || (spread.shards_weights && spread.shard_size > 1);
  if (!in_slots) return out;
  std::size_t kept = 0;
  for (std::size_t i = units.size(); i-- > 0;) {
    if (units[i].held_throughout) continue;
    out[i] = kept < kBlocksKept ? 1 : 2;
    ++kept;
  }
  return out;
}

bool is_gathered_after_update(const UnitLoad& unit, const Spread& spread) {
  return spread.shard_size > 1 && (!spread.shards_weights || unit.held_throughout);
}

StepTraffic traffic_of(const std::vector<UnitLoad>& units,
                       const Spread& spread,
                       std::int64_t micro_steps) {
  const std::vector<int> fills = fills_of_micro_step(units, spread);
  const auto steps = static_cast<double>(micro_steps);
  const double reductions = spread.reduces_each ? steps : 1;
  StepTraffic out;
  for (std::size_t i = 0; i < units.size(); ++i) {
    const auto numel = static_cast<double>(units[i].trainable_numel);
    const double weights =
        ring_bytes(spread.shard_size, numel * static_cast<double>(spread.compute_bytes));
    out.gather += weights * steps * fills[i];
    if (spread.weights_on_host) {
      out.uploads += numel * static_cast<double>(spread.compute_bytes) * steps * fills[i] /
                     static_cast<double>(spread.shard_size);
    }
    if (is_gathered_after_update(units[i], spread)) out.gather += weights;
    const double gradient = numel * static_cast<double>(spread.reduce_bytes);
    out.reduce += reductions * ring_bytes(spread.shard_size, gradient);
    out.replicas +=
        2 * ring_bytes(spread.replicas(), gradient / static_cast<double>(spread.shard_size));
  }
  return out;
}

}  // namespace wam
