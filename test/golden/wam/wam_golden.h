#pragma once

#include "models/wam/dit.h"
#include "parallel/strategies/sharded_units.h"
#include "test/golden/golden_place.h"
#include "test/support/golden.h"

namespace wam::test {

// The sizes that a golden file of kind dit or sft was made with. `clip` names its image tokens.
WamConfig config_of(const GoldenFile& file, const std::string& clip);

// Whether a place can compute with these sizes; if not, a line says so.
bool runs_at(const GoldenPlace& place, const GoldenFile& file, const WamConfig& config);

// The file's parameters as units.
std::unique_ptr<ShardedUnits> golden_units(const GoldenFile& file,
                                      const Dit& dit,
                                      const GoldenPlace& place);

// (B, F) timesteps of latent frames -> (B, 1 + N): frame 0 and the first frame of each block.
at::Tensor per_block(const at::Tensor& per_frame_BF);

// How far results may be off, relative to their size.
struct Limits {
  double output = 0;           // of the largest value
  double gradient = 0;         // gradprint
  double stored_gradient = 0;  // what is stored in float32
};
// On the CPU those of test/golden/README.md, of a gradient's largest value. On a GPU those that
// rounding allows, of a gradient's root mean square: see Note [Limits on a GPU].
Limits limits_for(const GoldenPlace& place, const WamConfig& config);
// Of a loss, the mean of squares of `values` errors.
double loss_limit(const GoldenPlace& place, const WamConfig& config, std::int64_t values);

// Of one gradient: larger where it goes through a ReLU.
Limits limits_of_gradient(const GoldenPlace& place, const Limits& limits, const std::string& name);

// Checks one gradient against the file's, and every parameter's: none is forgotten.
void check_gradient(const GoldenFile& file,
                    const GoldenPlace& place,
                    const Limits& limits,
                    const at::Tensor& gradient,
                    const std::string& name);
void check_gradients(const GoldenFile& file,
                     const GoldenPlace& place,
                     const Limits& limits,
                     ShardedUnits& units);

}  // namespace wam::test
