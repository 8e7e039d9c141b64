#include "parallel/strategies/assumed_shard.h"

#include <algorithm>

#include <ATen/ops/zeros.h>

#include "core/base/errors.h"

namespace wam {

AssumedShard::AssumedShard(const std::vector<UnitSpec>& specs, const Options& options) {
  UnitPlacement placement;
  placement.device = options.device;
  placement.compute_type = options.compute_type;
  placement.state_type = options.state_type;
  placement.state_on_host = options.state_on_host;
  placement.num_shards = options.world;
  std::int64_t longest = 0;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (specs[i].held_throughout) continue;
    longest = std::max(longest, padded_numel(specs[i], options.world));
  }
  const auto on_device = at::TensorOptions(options.device);
  const at::Tensor weight_slot = at::zeros({longest}, on_device.dtype(options.compute_type));
  gradient_slot_ = at::zeros({longest}, on_device.dtype(options.state_type));
  units_.reserve(specs.size());
  for (std::size_t i = 0; i < specs.size(); ++i) {
    Unit& unit = units_.emplace_back(specs[i], placement);
    unit.allocate_state();
    if (specs[i].held_throughout) {
      unit.allocate_compute();
      unit.allocate_gradient();
    } else {
      unit.compute() = weight_slot.narrow(0, 0, padded_numel(specs[i], options.world));
      unit.gradient() = gradient_slot_.narrow(0, 0, padded_numel(specs[i], options.world));
    }
  }
}

bool AssumedShard::in_slot(std::size_t unit_idx) const {
  return !units_.at(unit_idx).spec().held_throughout;
}

Unit& AssumedShard::acquire(std::size_t unit_idx, Pass /*pass*/) {
  Unit& unit = units_.at(unit_idx);
  if (!in_slot(unit_idx)) return unit;
  invariant(!occupant_, "a unit is acquired while another is in the slot");
  occupant_ = unit_idx;
  return unit;
}

void AssumedShard::release(std::size_t unit_idx, Pass /*pass*/) {
  if (!in_slot(unit_idx)) return;
  invariant(occupant_ == unit_idx, "a unit is released that is not in the slot");
  occupant_.reset();
}

void AssumedShard::gradient_complete(std::size_t /*unit_idx*/) {}

void AssumedShard::begin_step() {
  gradient_slot_.zero_();
  for (std::size_t i = 0; i < units_.size(); ++i) {
    if (!in_slot(i)) units_[i].gradient().zero_();
  }
}

void AssumedShard::begin_micro_step(bool /*last*/) {}

at::Tensor AssumedShard::shard_gradient(std::size_t unit_idx) {
  Unit& unit = units_.at(unit_idx);
  return unit.gradient().narrow(0, unit.shard().begin, unit.shard().numel());
}

at::Tensor AssumedShard::shard_compute(std::size_t unit_idx) {
  Unit& unit = units_.at(unit_idx);
  return unit.compute().narrow(0, unit.shard().begin, unit.shard().numel());
}

at::Tensor AssumedShard::take_waits() {
  return at::zeros({static_cast<std::int64_t>(kNumWaitCauses)},
                   at::TensorOptions(gradient_slot_.device()).dtype(at::kDouble));
}

void AssumedShard::sum_over_shards(at::Tensor& /*values*/) {}

void AssumedShard::sum_over_ranks(at::Tensor& /*values*/) {}

}  // namespace wam
