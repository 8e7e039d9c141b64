#pragma once

#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/train/sharding.h"

namespace wam {

enum class HoldsState { kNo, kYes };

struct BenchUnits {
  at::Device device = at::kCPU;
  at::ScalarType compute_type = at::kBFloat16;
  HoldsState state = HoldsState::kNo;
  bool state_on_host = false;
  std::int64_t assume_world = 1;  // more than 1: this rank's part of a full shard
};

// The units of a transformer with random values: on one rank, or as one of several would hold them.
std::unique_ptr<Sharding> make_bench_units(std::vector<UnitSpec> specs, const BenchUnits& options);
// What their buffers take; those that several units share count once.
std::int64_t buffer_bytes(Sharding& sharding);

}  // namespace wam
