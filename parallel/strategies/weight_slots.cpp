#include "parallel/strategies/weight_slots.h"

#include <algorithm>

#include <ATen/core/grad_mode.h>

#include "core/base/errors.h"
#include "core/cuda/pinned.h"

namespace wam {

WeightSlots::WeightSlots(
    std::vector<Unit>& units, Collectives& shards, Lane& lane, WaitTimes& waits, PiecesLieIn memory)
    : units_(units), shards_(shards), lane_(lane), waits_(waits), pieces_(units.size()) {
  for (const Unit& unit : units) titles_.push_back("the weights of " + unit.spec().name);
  allocate_pieces(memory);
}

void WeightSlots::allocate_pieces(PiecesLieIn memory) {
  const auto type = units_.front().placement().compute_type;
  const at::Device device = lane_.device();
  std::int64_t longest = 0;  // piece
  std::int64_t held = 0;
  for (const Unit& unit : units_) {
    if (unit.spec().held_throughout) continue;
    held += unit.shard().piece;
    longest = std::max(longest, unit.shard().piece);
  }
  const bool on_host = memory == PiecesLieIn::kHostMemory;
  const at::Tensor all =
      on_host ? host_buffer({held}, type, device) : shards_.allocate(held, type, device);
  std::int64_t at = 0;
  for (std::size_t i = 0; i < units_.size(); ++i) {
    if (units_[i].spec().held_throughout) continue;
    pieces_[i] = all.narrow(0, at, units_[i].shard().piece);
    at += units_[i].shard().piece;
  }
  if (on_host && shards_.axis_size() > 1) uploaded_ = shards_.allocate(longest, type, device);
  for (Slot& slot : slots_) {
    slot.buffer = shards_.allocate(longest * shards_.axis_size(), type, device);
  }
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
    fill(unit.compute(), unit_idx);
    slot.gathered.set(lane_.device());
  });
  return slot;
}

void WeightSlots::fill(at::Tensor& whole, std::size_t unit_idx) {
  at::Tensor piece = pieces_[unit_idx];
  const bool is_whole = shards_.axis_size() == 1;
  if (is_whole || uploaded_.defined()) {
    const at::NoGradGuard no_grad;
    at::Tensor there = is_whole ? whole : uploaded_.narrow(0, 0, piece.numel());
    piece = there.copy_(piece, /*non_blocking=*/true);
  }
  if (!is_whole) shards_.all_gather(whole, piece, titles_[unit_idx]);
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
