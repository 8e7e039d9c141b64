#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/train/sharding.h"
#include "parallel/collectives/axis.h"
#include "parallel/recipe/recipe.h"
#include "parallel/strategies/layout.h"

namespace wam {

// The ranks that hold the units of a benchmark, and when they reduce gradients.
struct BenchMesh {
  Layout layout;
  MeshAxes axes;
  ReduceTime reduce = ReduceTime::kLast;
};

// One of `ranks` of a full shard that holds as little as it can, without the others.
BenchMesh assumed_shard(int ranks);

enum class HoldsState { kNo, kYes };

struct BenchUnits {
  at::Device device = at::kCPU;
  at::ScalarType compute_type = at::kBFloat16;
  at::ScalarType state_type = at::kFloat;
  at::ScalarType reduce_type = at::kFloat;
  HoldsState state = HoldsState::kNo;
  bool state_on_host = false;
  BenchMesh mesh = {};
};

// The units of a transformer with random values, as this rank of the mesh holds them. All ranks
// call it together.
std::unique_ptr<Sharding> make_bench_units(std::vector<UnitSpec> specs, const BenchUnits& options);
// What weights and gradients of them take, by the formulas of parallel/estimate.
std::int64_t planned_bytes(const std::vector<UnitSpec>& specs, const BenchUnits& options);

}  // namespace wam
