#pragma once

#include <map>
#include <memory>
#include <string>

#include "models/wam/dit.h"
#include "models/wam/step.h"
#include "parallel/strategies/sharded_units.h"

namespace wam::test {

// Normals that are a function of `key`, in double.
at::Tensor random_tensor(const std::vector<std::int64_t>& shape, std::uint64_t key);

// A configuration that is small and has odd sizes: width 32, two heads, a text length of 9.
WamConfig small_config(ModelType type);
// One that is small and has a head width of 128, as the large models.
WamConfig kernel_config(ModelType type);

struct InputShape {
  std::int64_t samples = 2;
  std::int64_t blocks = 2;
  std::int64_t rows = 4;  // latent
  std::int64_t columns = 6;
  std::int64_t text_rows = 9;
  bool actions = true;
  ActionTime action_time = ActionTime::kOfBlock;
};
DitInput random_input(const WamConfig& config, const InputShape& shape, at::ScalarType type);
EncodedBatch random_batch(const WamConfig& config, const InputShape& shape, at::ScalarType type);

// Units of random weights (large enough that every part matters), the same for every type.
std::unique_ptr<ShardedUnits> random_units(const Dit& dit, at::ScalarType type);

// What the first block's backward would read.
BlockSaved first_block_saved(Dit& dit, const DitInput& in, ShardedUnits& units);

// Copies of a sharding's weights by name, as leaves.
std::map<std::string, at::Tensor> leaves_by_name(ShardedUnits& units);

// Largest absolute difference over the largest absolute value of `expected`, in double.
double relative_error(const at::Tensor& found, const at::Tensor& expected);

}  // namespace wam::test
