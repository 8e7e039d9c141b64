#pragma once

#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/cuda/lane.h"
#include "core/train/sharding.h"
#include "parallel/collectives/axis.h"
#include "parallel/recipe/recipe.h"
#include "parallel/strategies/gradient_reduction.h"
#include "parallel/strategies/wait_times.h"
#include "parallel/strategies/weight_slots.h"

namespace wam {

// Units whose optimizer state and gradients are sharded over one axis and replicated over another,
// and whose weights are either whole on every rank or sharded as well. Both axes may have one rank,
// so this is every strategy of the recipe (parallel/strategies/layout.h), and with one rank alone
// nothing is communicated.
class ShardedUnits final : public Sharding {
 public:
  struct Options {
    at::Device device = at::kCPU;
    at::ScalarType compute_type = at::kFloat;
    at::ScalarType state_type = at::kFloat;
    bool state_on_host = false;
    // Without: no gradient and no optimizer state (inference).
    bool trains = true;
    bool shards_weights = false;
    bool weights_on_host = false;  // of blocks, in the shards of the state
    ReduceTime reduce = ReduceTime::kLast;
    at::ScalarType reduce_type = at::kFloat;
    MeshAxes axes = {};
  };

  // Allocates everything, zeroed. Errors: what the allocator throws.
  ShardedUnits(const std::vector<UnitSpec>& specs, const Options& options);

  void begin_pass() override;
  void end_pass() override;
  Unit& acquire(std::size_t unit_idx, Pass pass) override;
  void release(std::size_t unit_idx, Pass pass) override;
  void gradient_complete(std::size_t unit_idx) override;
  [[nodiscard]] int micro_step_kind() const override;

  std::vector<Unit>& units() override { return units_; }
  void begin_step() override;
  void begin_micro_step(bool last) override;
  at::Tensor shard_gradient(std::size_t unit_idx) override;
  at::Tensor shard_compute(std::size_t unit_idx) override;
  void sum_over_shards(at::Tensor& values) override;
  void sum_over_ranks(at::Tensor& values) override;
  at::Tensor take_waits() override { return waits_.take(); }
  void share_weights() override;

 private:
  [[nodiscard]] bool in_slots(std::size_t unit_idx) const;
  // Runs in the lane what communicates, and lets the current stream go on after it.
  template <class Work>
  void in_lane(WaitCause cause, const Work& work);

  MeshAxes axes_;
  std::vector<Unit> units_;
  Lane lane_;
  WaitTimes waits_;
  Mark lane_done_;
  std::optional<WeightSlots> slots_;            // none: weights are whole
  std::optional<GradientReduction> gradients_;  // none: inference
};

}  // namespace wam
