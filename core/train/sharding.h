#pragma once

#include <cstddef>
#include <vector>

#include <ATen/core/Tensor.h>

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
  // The unit with complete weights; they stay so until `release` of the same pass. A unit may be
  // held for both passes at once (embeddings, head): its buffers stay in place until both are back.
  virtual Unit& acquire(std::size_t unit_idx, Pass pass) = 0;
  virtual void release(std::size_t unit_idx, Pass pass) = 0;
  // In backward: this micro-step's contribution to the unit's gradient is in its buffer.
  virtual void gradient_complete(std::size_t unit_idx) = 0;

  // ---- called by the training loop ----
  [[nodiscard]] virtual std::vector<Unit>& units() = 0;
  // Before the first micro-step of a step: gradients are zero.
  virtual void begin_step() = 0;
  // `last`: the gradients of this step are complete after this micro-step.
  virtual void begin_micro_step(bool last) = 0;
  // The gradient of this rank's shard, summed over ranks: elements shard() of the unit, state_type.
  // Valid after the last micro-step.
  virtual at::Tensor shard_gradient(std::size_t unit_idx) = 0;
  // The compute copy of this rank's shard, for an optimizer that writes it beside `master`: rounded
  // once, to nearest even. Undefined: publish_weights is to be called instead.
  virtual at::Tensor shard_compute(std::size_t /*unit_idx*/) { return {}; }
  // Sums over ranks of values that were computed on shards, one a tensor or a unit; in place.
  virtual void sum_over_shards(at::Tensor& values) = 0;
  // Sums a small tensor of metrics over the data-parallel ranks, in place.
  virtual void sum_over_ranks(at::Tensor& values) = 0;
  // After `master` changed: refreshes the compute copies (rounded once, to nearest even).
  virtual void publish_weights() = 0;
};

}  // namespace wam
