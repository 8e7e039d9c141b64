#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/train/sharding.h"

namespace wam {

// What one rank of a full shard holds and computes with, without the other ranks: to measure on one
// GPU the compute of a model that needs several. Never for training: the weights of a unit are what
// its slot happens to hold, and gradients of other ranks are absent.
//
// Units share one slot for gathered weights and one for gradients, which pile up there; the units
// that are held throughout have buffers of their own. Of state arrays there is rank 0's shard.
class AssumedShard final : public Sharding {
 public:
  struct Options {
    at::Device device = at::kCPU;
    at::ScalarType compute_type = at::kFloat;
    at::ScalarType state_type = at::kFloat;
    bool state_on_host = false;
    int world = 1;  // ranks
  };

  // Allocates everything, zeroed. Errors: what the allocator throws.
  AssumedShard(const std::vector<UnitSpec>& specs, const Options& options);

  void begin_pass() override {}
  void end_pass() override {}
  // Errors: InvariantError when another unit is in the slot.
  Unit& acquire(std::size_t unit_idx, Pass pass) override;
  void release(std::size_t unit_idx, Pass pass) override;
  void gradient_complete(std::size_t unit_idx) override;

  std::vector<Unit>& units() override { return units_; }
  void begin_step() override;
  void begin_micro_step(bool last) override;
  at::Tensor shard_gradient(std::size_t unit_idx) override;
  at::Tensor shard_compute(std::size_t unit_idx) override;
  void sum_over_shards(at::Tensor& values) override;
  void sum_over_ranks(at::Tensor& values) override;
  at::Tensor take_waits() override;
  void share_weights() override {}

 private:
  [[nodiscard]] bool in_slot(std::size_t unit_idx) const;

  std::vector<Unit> units_;
  at::Tensor gradient_slot_;             // as long as the longest gradient in it
  std::optional<std::size_t> occupant_;  // of the slot
};

}  // namespace wam
