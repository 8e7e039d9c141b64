#pragma once

#include <cstddef>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/train/step_times.h"
#include "core/train/unit.h"

namespace wam {

enum class Pass { kForward, kBackward };

// How units are spread over ranks (D6). The model asks for a unit before it touches its weights and
// gives it back after; the strategy gathers, prefetches, reduces and frees behind these calls.
// Every rank makes the same calls in the same order.
//
// Implementations: parallel/strategies. Errors: CommError.
class Sharding {
 public:
  Sharding() = default;
  Sharding(const Sharding&) = delete;
  Sharding& operator=(const Sharding&) = delete;
  Sharding(Sharding&&) = delete;
  Sharding& operator=(Sharding&&) = delete;
  virtual ~Sharding() = default;

  // ---- called by the model ----
  // Around every forward, and the backward that belongs to it. After begin_pass weights are as the
  // last update left them; at end_pass every unit has been given back, and what runs beside the
  // current stream joins it.
  virtual void begin_pass() = 0;
  virtual void end_pass() = 0;
  // The unit with complete weights; they stay so until `release` of the same pass. A unit may be
  // held for both passes at once (UnitSpec::held_throughout): its buffers stay in place until both
  // are back.
  virtual Unit& acquire(std::size_t unit_idx, Pass pass) = 0;
  virtual void release(std::size_t unit_idx, Pass pass) = 0;
  // In backward: this micro-step's contribution to the unit's gradient is in its buffer.
  virtual void gradient_complete(std::size_t unit_idx) = 0;
  // Micro-steps of equal kind make the same calls to the device: one recording serves them.
  [[nodiscard]] virtual int micro_step_kind() const { return 0; }

  // ---- called by the training loop ----
  [[nodiscard]] virtual std::vector<Unit>& units() = 0;
  // Before the first micro-step of a step: gradients are zero.
  virtual void begin_step() = 0;
  // `last`: the gradients of this step are complete after this micro-step.
  virtual void begin_micro_step(bool last) = 0;
  // The gradient of this rank's shard, summed over ranks: elements shard() of the unit, state_type.
  // Valid after the last micro-step.
  virtual at::Tensor shard_gradient(std::size_t unit_idx) = 0;
  // The compute copy of this rank's shard, which the optimizer writes beside `master`: rounded
  // once, to nearest even.
  virtual at::Tensor shard_compute(std::size_t unit_idx) = 0;
  // Sums over ranks of values that were computed on shards, one a tensor or a unit; in place.
  virtual void sum_over_shards(at::Tensor& values) = 0;
  // Sums a small tensor of metrics over the data-parallel ranks, in place.
  virtual void sum_over_ranks(at::Tensor& values) = 0;
  // (kNumWaitCauses) float64, by WaitCause: seconds since the last call for which what computes has
  // waited for communication. On the device, in the order of the current stream.
  virtual at::Tensor take_waits() = 0;
  // After shard_compute changed: weights that are whole on every rank are gathered again.
  virtual void share_weights() = 0;

  // After `master` changed: fills shard_compute from it, and shares.
  void publish_weights();
};

}  // namespace wam
