#include "parallel/strategies/sharded_units.h"

#include <ATen/core/grad_mode.h>

#include "core/base/errors.h"
#include "parallel/collectives/absent_ranks.h"

namespace wam {
namespace {

MeshAxes complete(MeshAxes axes) {
  const auto alone = std::make_shared<AbsentRanks>();
  for (auto* axis : {&axes.world, &axes.shards, &axes.replicas}) {
    if (*axis == nullptr) *axis = alone;
  }
  return axes;
}

}  // namespace

ShardedUnits::ShardedUnits(const std::vector<UnitSpec>& specs, const Options& options)
    : axes_(complete(options.axes)), lane_(options.device), waits_(options.device) {
  UnitPlacement placement;
  placement.device = options.device;
  placement.compute_type = options.compute_type;
  placement.state_type = options.state_type;
  placement.state_on_host = options.state_on_host;
  placement.shard_idx = axes_.shards->axis_rank();
  placement.num_shards = axes_.shards->axis_size();
  const bool slots =
      options.weights_on_host || (options.shards_weights && placement.num_shards > 1);
  units_.reserve(specs.size());
  for (const UnitSpec& spec : specs) {
    Unit& unit = units_.emplace_back(spec, placement);
    if (!slots || spec.held_throughout) unit.allocate_compute();
    if (options.trains) unit.allocate_state();
  }
  if (slots) {
    slots_.emplace(units_, *axes_.shards, lane_, waits_,
                   options.weights_on_host ? PiecesLieIn::kHostMemory : PiecesLieIn::kDeviceMemory);
  }
  if (options.trains) {
    gradients_.emplace(
        units_, *axes_.shards, *axes_.replicas, lane_, waits_,
        GradientReduction::Options{.time = options.reduce, .reduce_type = options.reduce_type});
  }
}

bool ShardedUnits::in_slots(std::size_t unit_idx) const {
  return slots_ && !units_[unit_idx].spec().held_throughout;
}

template <class Work>
void ShardedUnits::in_lane(WaitCause cause, const Work& work) {
  lane_.after_current();
  waits_.in_lane(cause, [&] {
    const Lane::Scope scope(lane_);
    work();
    lane_done_.set(lane_.device());
  });
  waits_.wait(lane_done_, cause);
}

void ShardedUnits::begin_pass() {
  if (slots_) slots_->begin_pass();
  if (gradients_) gradients_->begin_pass();
}

void ShardedUnits::end_pass() {
  if (axes_.world->axis_size() == 1) return;
  in_lane(WaitCause::kReduce, [] {});
}

Unit& ShardedUnits::acquire(std::size_t unit_idx, Pass pass) {
  if (in_slots(unit_idx)) slots_->acquire(unit_idx, pass);
  if (pass == Pass::kBackward) gradients_->prepare(unit_idx);
  return units_.at(unit_idx);
}

void ShardedUnits::release(std::size_t unit_idx, Pass /*pass*/) {
  if (in_slots(unit_idx)) slots_->release(unit_idx);
}

void ShardedUnits::gradient_complete(std::size_t unit_idx) {
  gradients_->complete(unit_idx);
}

int ShardedUnits::micro_step_kind() const {
  return gradients_ ? gradients_->kind() : 0;
}

void ShardedUnits::begin_step() {
  gradients_->begin_step();
}

void ShardedUnits::begin_micro_step(bool last) {
  gradients_->begin_micro_step(last);
}

at::Tensor ShardedUnits::shard_gradient(std::size_t unit_idx) {
  return gradients_->shard_gradient(unit_idx);
}

at::Tensor ShardedUnits::shard_compute(std::size_t unit_idx) {
  Unit& unit = units_.at(unit_idx);
  if (in_slots(unit_idx)) return slots_->piece(unit_idx).narrow(0, 0, unit.shard().numel());
  return unit.compute().narrow(0, unit.shard().begin, unit.shard().numel());
}

void ShardedUnits::sum_over_shards(at::Tensor& values) {
  if (axes_.shards->axis_size() == 1) return;
  in_lane(WaitCause::kSumNorms,
          [&] { axes_.shards->all_reduce_sum(values, "squared gradient norms"); });
}

void ShardedUnits::sum_over_ranks(at::Tensor& values) {
  if (axes_.world->axis_size() == 1) return;
  in_lane(WaitCause::kSumLosses, [&] { axes_.world->all_reduce_sum(values, "losses"); });
}

void ShardedUnits::share_weights() {
  if (axes_.shards->axis_size() == 1) return;
  const at::NoGradGuard no_grad;
  in_lane(WaitCause::kShareWeights, [&] {
    for (std::size_t i = 0; i < units_.size(); ++i) {
      if (in_slots(i)) continue;
      Unit& unit = units_[i];
      const std::int64_t piece = unit.shard().piece;
      axes_.shards->all_gather(unit.compute(),
                               unit.compute().narrow(0, piece * unit.placement().shard_idx, piece),
                               "the weights of " + unit.spec().name);
    }
  });
}

}  // namespace wam
