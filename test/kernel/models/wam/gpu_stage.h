#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "models/wam/flow_matching.h"
#include "models/wam/step.h"
#include "parallel/strategies/sharded_units.h"
#include "test/unit/models/wam/random_dit.h"

namespace wam::test {

inline const at::Device kDevice(at::kCUDA, 0);

// Units of random weights. Made once for a type: a step leaves the weights alone.
std::unique_ptr<ShardedUnits> units_on_gpu(const WamConfig& config, at::ScalarType type);

// What the runs of one type share.
struct Stage {
  Stage(const WamConfig& c, at::ScalarType type);

  WamConfig config;
  std::unique_ptr<AttentionEngine> engine;
  std::unique_ptr<ShardedUnits> units;
  FlowSchedule schedule;
};

// All samples of a case, on the GPU.
struct Samples {
  EncodedBatch batch;
  std::vector<std::int64_t> latent_CFYX;
  std::vector<std::int64_t> action_PA;

  [[nodiscard]] EncodedBatch part(std::int64_t begin, std::int64_t count) const;
  [[nodiscard]] Draws draws(std::int64_t begin, std::int64_t count) const;
};

Samples samples_for(const WamConfig& config, const InputShape& shape, at::ScalarType type);

}  // namespace wam::test
