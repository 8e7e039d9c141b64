#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/train/batch.h"
#include "core/train/sharding.h"
#include "data/loader/order.h"
#include "models/wam/wam_model.h"
#include "test/unit/models/wam/pooled_encoders.h"

namespace wam::test {

inline constexpr std::uint64_t kSeed = 11;  // of the draws

// A dataset of 101 windows of random content, of the smallest size that the model takes.
class Windows {
 public:
  static constexpr std::uint64_t kCount = 101;

  explicit Windows(const WamConfig& config);
  // The samples of these ordinals; their content is that of the windows which the order names.
  [[nodiscard]] Batch batch(const std::vector<std::uint64_t>& ordinals) const;

 private:
  SampleOrder order_{{kCount}, {1.0}, 3};
  Batch all_;  // one sample a window
};

// Width 32, three blocks (one more than are gathered at once), 6 tokens a frame.
WamConfig width_32();

// The whole model on the CPU, in one number type, at one recompute policy.
struct SmallModel {
  SmallModel(at::ScalarType type, RecomputePolicy policy);

  PooledEncoders encoders{width_32()};
  WamModel model;
};

struct Job {
  BatchPlan plan;
  std::int64_t steps = 3;
  double epsilon = 1e-8;  // of AdamW
};

// What a training came to, as one rank knows it.
struct Numbers {
  std::vector<double> losses;  // of each step: all, video, action; over all ranks
  std::vector<double> norms;
  std::vector<std::map<std::string, at::Tensor>> states;  // of each unit: this rank's shard
};

// The same random weights for every sharding, large enough that every part matters.
void fill_weights(Sharding& sharding);
// Forward and backward of a step's micro-batches; (3) losses of this rank's samples.
at::Tensor run_micro_steps(WamModel& model,
                           Sharding& sharding,
                           const Windows& windows,
                           const BatchPlan& plan,
                           std::uint64_t step);
// From fill_weights on, as the training loop does it.
Numbers train(WamModel& model, Sharding& sharding, const Windows& windows, const Job& job);

}  // namespace wam::test
