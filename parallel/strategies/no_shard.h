#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include "core/train/sharding.h"

namespace wam {

// Every unit whole on one rank: weights, gradients and optimizer state stay where they are, nothing
// is gathered, and gradients are reduced nowhere because there is one rank.
class NoShard final : public Sharding {
 public:
  struct Options {
    at::Device device = at::kCPU;
    at::ScalarType compute_type = at::kFloat;
    at::ScalarType state_type = at::kFloat;
    // Without: no gradient and no optimizer state (inference).
    bool trains = true;
  };

  // Allocates everything, zeroed. Errors: what the allocator throws.
  NoShard(const std::vector<UnitSpec>& specs, const Options& options);

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
  void publish_weights() override;

 private:
  std::vector<Unit> units_;
};

}  // namespace wam
