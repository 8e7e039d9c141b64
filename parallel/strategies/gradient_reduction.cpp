#include "parallel/strategies/gradient_reduction.h"

#include <algorithm>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include "core/base/errors.h"

namespace wam {

GradientReduction::GradientReduction(std::vector<Unit>& units,
                                     Collectives& shards,
                                     Collectives& replicas,
                                     Lane& lane,
                                     WaitTimes& waits,
                                     const Options& options)
    : units_(units),
      shards_(shards),
      replicas_(replicas),
      lane_(lane),
      waits_(waits),
      reduce_type_(options.reduce_type),
      several_(shards.axis_size() * replicas.axis_size() > 1),
      each_(several_ && options.time == ReduceTime::kEach) {
  const auto state_type = units.front().placement().state_type;
  std::int64_t longest = 0;
  for (Unit& unit : units) {
    titles_.push_back("the gradient of " + unit.spec().name);
    longest = std::max(longest, padded_numel(unit.spec(), shards.axis_size()));
    if (!each_) unit.allocate_gradient();
  }
  if (each_) allocate_slots();
  if (several_ && reduce_type_ != state_type) {
    narrow_ = at::empty({longest}, at::TensorOptions(lane.device()).dtype(reduce_type_));
  }
}

void GradientReduction::allocate_slots() {
  const auto options = at::TensorOptions(lane_.device()).dtype(units_[0].placement().state_type);
  own_slots_.resize(units_.size());
  slot_used_.resize(units_.size());
  std::int64_t longest = 0;
  for (std::size_t i = 0; i < units_.size(); ++i) {
    sums_.push_back(at::zeros({units_[i].shard().piece}, options));
    const std::int64_t numel = padded_numel(units_[i].spec(), shards_.axis_size());
    if (units_[i].spec().held_throughout) {
      own_slots_[i].buffer = at::zeros({numel}, options);
    } else {
      longest = std::max(longest, numel);
    }
  }
  for (Slot& slot : slots_) slot.buffer = at::zeros({longest}, options);
}

void GradientReduction::begin_step() {
  const at::NoGradGuard no_grad;
  for (at::Tensor& sum : sums_) sum.zero_();
  if (each_) return;
  for (Unit& unit : units_) unit.gradient().zero_();
}

void GradientReduction::begin_pass() {
  for (Slot& slot : slots_) slot.reduced.forget();
  for (Slot& slot : own_slots_) slot.reduced.forget();
  turn_ = 0;
}

GradientReduction::Slot& GradientReduction::slot_for(std::size_t unit_idx) {
  if (units_[unit_idx].spec().held_throughout) return own_slots_[unit_idx];
  return slots_[slot_used_[unit_idx]];
}

void GradientReduction::prepare(std::size_t unit_idx) {
  if (!each_) return;
  Unit& unit = units_[unit_idx];
  if (!unit.spec().held_throughout) slot_used_[unit_idx] = turn_++ % slots_.size();
  Slot& slot = slot_for(unit_idx);
  waits_.wait(slot.reduced, WaitCause::kReduce);
  unit.gradient() = slot.buffer.narrow(0, 0, padded_numel(unit.spec(), shards_.axis_size()));
}

void GradientReduction::complete(std::size_t unit_idx) {
  if (!reduces()) return;
  const at::NoGradGuard no_grad;
  at::Tensor& whole = units_[unit_idx].gradient();
  lane_.after_current();
  waits_.in_lane(WaitCause::kReduce, [&] {
    const Lane::Scope scope(lane_);
    reduce_shards(unit_idx, whole);
    at::Tensor piece = own_piece(unit_idx, whole);
    if (each_) piece = sums_[unit_idx].add_(piece);
    if (last_ && sums_replicas()) reduce_replicas(unit_idx, piece);
    if (!each_) return;
    whole.zero_();  // for the next unit that gets the slot
    slot_for(unit_idx).reduced.set(lane_.device());
  });
}

at::Tensor GradientReduction::own_piece(std::size_t unit_idx, const at::Tensor& whole) const {
  const std::int64_t piece = units_[unit_idx].shard().piece;
  return whole.narrow(0, piece * shards_.axis_rank(), piece);
}

at::Tensor GradientReduction::narrowed(const at::Tensor& values) {
  if (!narrow_.defined()) return values;
  return narrow_.narrow(0, 0, values.numel()).copy_(values);
}

void GradientReduction::reduce_shards(std::size_t unit_idx, at::Tensor& whole) {
  if (shards_.axis_size() == 1) return;
  at::Tensor travels = narrowed(whole);
  at::Tensor piece = own_piece(unit_idx, travels);
  shards_.reduce_scatter_sum(piece, travels, titles_[unit_idx]);
  if (narrow_.defined()) own_piece(unit_idx, whole).copy_(piece);
}

void GradientReduction::reduce_replicas(std::size_t unit_idx, at::Tensor piece) {
  at::Tensor travels = narrowed(piece);
  replicas_.all_reduce_sum(travels, titles_[unit_idx]);
  if (narrow_.defined()) piece.copy_(travels);
}

at::Tensor GradientReduction::shard_gradient(std::size_t unit_idx) {
  const ShardRange& shard = units_.at(unit_idx).shard();
  if (each_) return sums_[unit_idx].narrow(0, 0, shard.numel());
  return own_piece(unit_idx, units_[unit_idx].gradient()).narrow(0, 0, shard.numel());
}

}  // namespace wam
