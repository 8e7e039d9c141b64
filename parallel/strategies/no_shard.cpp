#include "parallel/strategies/no_shard.h"

#include <ATen/core/grad_mode.h>

namespace wam {

NoShard::NoShard(const std::vector<UnitSpec>& specs, const Options& options) {
  UnitPlacement placement;
  placement.device = options.device;
  placement.compute_type = options.compute_type;
  placement.state_type = options.state_type;
  for (const UnitSpec& spec : specs) {
    Unit& unit = units_.emplace_back(spec, placement);
    unit.allocate_compute();
    if (!options.trains) continue;
    unit.allocate_gradient();
    unit.allocate_state();
  }
}

Unit& NoShard::acquire(std::size_t unit_idx, Pass /*pass*/) {
  return units_.at(unit_idx);
}

void NoShard::release(std::size_t /*unit_idx*/, Pass /*pass*/) {}

void NoShard::gradient_complete(std::size_t /*unit_idx*/) {}

void NoShard::begin_step() {
  for (Unit& unit : units_) unit.gradient().zero_();
}

void NoShard::begin_micro_step(bool /*last*/) {}

at::Tensor NoShard::shard_gradient(std::size_t unit_idx) {
  return units_.at(unit_idx).gradient();
}

at::Tensor NoShard::shard_compute(std::size_t unit_idx) {
  Unit& unit = units_.at(unit_idx);
  return unit.compute().narrow(0, 0, unit.spec().trainable_numel);
}

void NoShard::sum_over_shards(at::Tensor& /*values*/) {}

void NoShard::sum_over_ranks(at::Tensor& /*values*/) {}

void NoShard::publish_weights() {
  const at::NoGradGuard no_grad;
  for (Unit& unit : units_) {
    unit.compute().narrow(0, 0, unit.spec().trainable_numel).copy_(unit.state("master"));
  }
}

}  // namespace wam
