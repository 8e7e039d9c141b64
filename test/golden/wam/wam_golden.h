#pragma once

#include "models/wam/dit.h"
#include "parallel/strategies/no_shard.h"
#include "test/support/golden.h"

namespace wam::test {

// The sizes that a golden file of kind dit or sft was made with.
WamConfig config_of(const GoldenFile& file);

// The file's parameters as units of `type`.
std::unique_ptr<NoShard> golden_units(const GoldenFile& file, const Dit& dit, at::ScalarType type);

// (B, F) timesteps of latent frames -> (B, 1 + N): frame 0 and the first frame of each block.
at::Tensor per_block(const at::Tensor& per_frame_BF);

struct Limits {
  double output;
  double gradient;         // gradprint
  double stored_gradient;  // what is stored in float32
};
// Of test/golden/README.md.
Limits limits_for(at::ScalarType type);

// Checks every parameter gradient that the file holds, and that none of them was forgotten.
void check_gradients(const GoldenFile& file, NoShard& units, const Limits& limits);

}  // namespace wam::test
