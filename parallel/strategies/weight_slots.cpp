#include "parallel/strategies/weight_slots.h"

#include <algorithm>

#include "core/base/errors.h"

namespace wam {

WeightSlots::WeightSlots(std::vector<Unit>& units,
                         Collectives& shards,
                         Lane& lane,
                         WaitTimes& waits)
    : units_(units), shards_(shards), lane_(lane), waits_(waits), pieces_(units.size()) {
  const auto type = units.front().placement().compute_type;
  std::int64_t longest = 0;
  std::int64_t held = 0;
  for (const Unit& unit : units) {
    titles_.push_back("the weights of " + unit.spec().name);
    if (unit.spec().held_throughout) continue;
    held += unit.shard().piece;
    longest = std::max(longest, padded_numel(unit.spec(), shards.axis_size()));
  }
  const at::Tensor all = shards.allocate(held, type, lane.device());
  std::int64_t at = 0;
  for (std::size_t i = 0; i < units.size(); ++i) {
    if (units[i].spec().held_throughout) continue;
    pieces_[i] = all.narrow(0, at, units[i].shard().piece);
    at += units[i].shard().piece;
  }
  for (Slot& slot : slots_) slot.buffer = shards.allocate(longest, type, lane.device());
}

void WeightSlots::begin_pass() {
  for (Slot& slot : slots_) {
    invariant(slot.users == 0, "a pass begins while a block of the last one is held");
    if (slot.unit) units_[*slot.unit].compute() = at::Tensor();
    slot.unit.reset();
    // The lane starts behind the current stream: earlier marks have nothing to add.
    slot.gathered.forget();
    slot.given_back.forget();
  }
  lane_.after_current();
  for (std::size_t i = 0; i < units_.size(); ++i) {
    if (units_[i].spec().held_throughout) continue;
    gather(i);  // the first block, under the embeddings
    break;
  }
}

WeightSlots::Slot* WeightSlots::slot_of(std::size_t unit_idx) {
  for (Slot& slot : slots_) {
    if (slot.unit == unit_idx) return &slot;
  }
  return nullptr;
}

WeightSlots::Slot& WeightSlots::gather(std::size_t unit_idx) {
  Slot& slot = slots_[0].users == 0 ? slots_[0] : slots_[1];
  invariant(slot.users == 0, "more blocks are held at once than there are slots");
  if (slot.unit) units_[*slot.unit].compute() = at::Tensor();
  slot.unit = unit_idx;
  Unit& unit = units_[unit_idx];
  unit.compute() = slot.buffer.narrow(0, 0, padded_numel(unit.spec(), shards_.axis_size()));
  waits_.in_lane(WaitCause::kGather, [&] {
    const Lane::Scope scope(lane_);
    slot.given_back.wait(lane_.device());
    shards_.all_gather(unit.compute(), pieces_[unit_idx], titles_[unit_idx]);
    slot.gathered.set(lane_.device());
  });
  return slot;
}

std::optional<std::size_t> WeightSlots::next(std::size_t unit_idx, Pass pass) const {
  if (pass == Pass::kBackward && unit_idx == 0) return std::nullopt;
  const std::size_t candidate = pass == Pass::kForward ? unit_idx + 1 : unit_idx - 1;
  if (candidate >= units_.size() || units_[candidate].spec().held_throughout) return std::nullopt;
  return candidate;
}

void WeightSlots::acquire(std::size_t unit_idx, Pass pass) {
  Slot* slot = slot_of(unit_idx);
  if (slot == nullptr) slot = &gather(unit_idx);
  ++slot->users;
  waits_.wait(slot->gathered, WaitCause::kGather);
  const auto following = next(unit_idx, pass);
  if (following && slot_of(*following) == nullptr) gather(*following);
}

void WeightSlots::release(std::size_t unit_idx) {
  Slot* slot = slot_of(unit_idx);
  invariant(slot != nullptr && slot->users > 0, "a unit is given back that was not acquired");
  --slot->users;
  slot->given_back.set(lane_.device());
}

}  // namespace wam
