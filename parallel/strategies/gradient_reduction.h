#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/cuda/lane.h"
#include "core/train/collectives.h"
#include "core/train/sharding.h"
#include "parallel/recipe/recipe.h"
#include "parallel/strategies/wait_times.h"

namespace wam {

// Gradients of units, and their sums over ranks.
//
// kLast: every unit has a whole gradient in which the micro-steps of a step pile up; in the last of
// them it is reduced when it is complete, in place, while the backward goes on.
// kEach: this rank's piece of every unit piles up; a micro-step's gradient is written into a slot
// (two for all blocks, one for each unit that is held throughout), reduced there over the shards,
// and its piece is added; replicas sum what piled up in the last micro-step. Less memory, more
// traffic inside a group of shards.
// With one rank there is nothing to reduce, and both are the whole gradient.
class GradientReduction {
 public:
  struct Options {
    ReduceTime time = ReduceTime::kLast;
    // Type in which gradients travel; they are summed in it. The state's type: as they are.
    at::ScalarType reduce_type = at::kFloat;
  };

  // All references must outlive it.
  GradientReduction(std::vector<Unit>& units,
                    Collectives& shards,
                    Collectives& replicas,
                    Lane& lane,
                    WaitTimes& waits,
                    const Options& options);

  void begin_step();
  void begin_micro_step(bool last) { last_ = last; }
  void begin_pass();
  // Before a unit's backward: its gradient buffer is there, to be added to.
  void prepare(std::size_t unit_idx);
  // The unit's gradient of this micro-step is in it.
  void complete(std::size_t unit_idx);
  [[nodiscard]] at::Tensor shard_gradient(std::size_t unit_idx);
  // Whether this micro-step reduces.
  [[nodiscard]] bool reduces() const { return several_ && (last_ || each_); }
  // Micro-steps of equal kind make the same calls (Sharding::micro_step_kind).
  [[nodiscard]] int kind() const { return !reduces() ? 0 : last_ && sums_replicas() ? 2 : 1; }

 private:
  struct Slot {
    at::Tensor buffer;  // zeros, unless a unit is at work in it
    Mark reduced;       // in the lane
  };

  void allocate_slots();
  Slot& slot_for(std::size_t unit_idx);
  [[nodiscard]] bool sums_replicas() const { return replicas_.axis_size() > 1; }
  // In the lane. Afterwards this rank's piece of `whole` is the sum over the ranks of shards.
  void reduce_shards(std::size_t unit_idx, at::Tensor& whole);
  // And `piece` that over replicas.
  void reduce_replicas(std::size_t unit_idx, at::Tensor piece);
  // In the type that travels: `values` themselves, or a copy.
  at::Tensor narrowed(const at::Tensor& values);
  [[nodiscard]] at::Tensor own_piece(std::size_t unit_idx, const at::Tensor& whole) const;

  std::vector<Unit>& units_;
  Collectives& shards_;
  Collectives& replicas_;
  Lane& lane_;
  WaitTimes& waits_;
  at::ScalarType reduce_type_;
  bool several_;  // ranks
  bool each_;
  bool last_ = true;
  std::vector<std::string> titles_;
  at::Tensor narrow_;                   // a whole gradient in the type that travels
  std::vector<at::Tensor> sums_;        // kEach: (piece) of each unit
  std::array<Slot, 2> slots_;           // kEach: of the blocks
  std::vector<Slot> own_slots_;         // kEach: of the units held throughout, by unit
  std::vector<std::size_t> slot_used_;  // kEach: by each unit, in this pass
  std::size_t turn_ = 0;
};

}  // namespace wam
