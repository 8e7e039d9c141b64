#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/train/batch.h"
#include "core/train/sharding.h"

namespace wam {

// Device scalars in float32 (float64 in double tests): sums over the samples of the batch.
struct Losses {
  at::Tensor loss;
  at::Tensor video;
  at::Tensor action;
};

// What the model makes of a batch when it samples from noise.
struct Prediction {
  at::Tensor action_BPA;  // normalised, clamped to [-1, 1]
  at::Tensor latent_BCFYX;
};

// A trainable model: its parameters as units, a loss with its backward, and a forward without.
// One implementation serves training on the CPU and on GPUs.
class Model {
 public:
  Model() = default;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;
  Model(Model&&) = delete;
  Model& operator=(Model&&) = delete;
  virtual ~Model() = default;

  // In the order in which a forward first uses them.
  [[nodiscard]] virtual const std::vector<UnitSpec>& units() const = 0;
  // Fills one parameter with its initial value (a function of seed and name alone), any float type.
  virtual void initialise(const TensorSpec& tensor, std::uint64_t seed, at::Tensor out) const = 0;

  // Adds d(weight * sum of per-sample losses)/d(parameter) to the units' gradients and returns the
  // unweighted sums. `seed` is the run's: draws are keyed by it and Batch::ordinal. An empty batch
  // makes the same calls on `sharding` and adds nothing.
  virtual Losses train(const Batch& batch,
                       Sharding& sharding,
                       std::uint64_t seed,
                       double weight) = 0;
  // The same losses without gradients; draws keyed by `seed` and Batch::ordinal.
  virtual Losses evaluate(const Batch& batch, Sharding& sharding, std::uint64_t seed) = 0;
  // Video and actions from noise in `steps` Euler steps, each block conditioned on its clean
  // history (teacher forcing, as in training).
  virtual Prediction predict(const Batch& batch,
                             Sharding& sharding,
                             std::uint64_t seed,
                             std::int64_t steps) = 0;
};

}  // namespace wam
