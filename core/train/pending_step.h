#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/cuda/late_read.h"
#include "core/train/dataset.h"
#include "core/train/metrics.h"
#include "core/train/optimizer.h"
#include "core/train/sharding.h"
#include "core/train/step_clock.h"
#include "core/train/unit.h"

namespace wam {

// dataset/episode/frame
std::string window_name(const SampleId& id);

struct StepSample {
  std::uint64_t ordinal = 0;
  SampleId id;
};

// What a rank's micro-batches of a step were made of, in their order.
struct StepSamples {
  std::vector<StepSample> used;
  std::vector<BadSample> replaced;
};

// A step that has been submitted; its numbers are on their way from the device.
class PendingStep {
 public:
  // What the device has of it.
  struct Numbers {
    // (4) float64: sums over the global batch of loss, video and action loss; samples replaced
    at::Tensor losses;
    UpdateResult update;
    at::Tensor wait_s;  // Sharding::take_waits
  };
  // `known`: what the host knows already. `samples`: of this rank. Does not wait.
  PendingStep(StepMetrics known,
              StepSamples samples,
              std::int64_t global_batch,
              const Numbers& numbers,
              StepSpan span);

  // Waits until the step is complete. Without samples_per_s, which is the loop's to know; the
  // samples of a skipped step, and those replaced, are those of this rank.
  [[nodiscard]] StepMetrics metrics(const std::vector<Unit>& units) const;
  // dataset/episode/frame of the step's samples on all ranks, in the order of the stream. All ranks
  // call it together.
  [[nodiscard]] std::vector<std::string> samples(Sharding& sharding) const;
  // The same of those that were replaced.
  [[nodiscard]] std::vector<std::string> replaced(Sharding& sharding) const;
  // Those of this rank.
  [[nodiscard]] const std::vector<BadSample>& own_replaced() const { return samples_.replaced; }
  // (num_tensors) float64 on the host: UpdateResult::tensor_square_sums. Waits too.
  [[nodiscard]] at::Tensor tensor_square_sums() const;

 private:
  StepMetrics known_;
  StepSamples samples_;
  std::int64_t global_batch_;
  std::int64_t num_tensors_;
  StepSpan span_;
  LateRead numbers_;
};

}  // namespace wam
