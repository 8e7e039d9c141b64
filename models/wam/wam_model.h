#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/train/model.h"
#include "core/train/step_clock.h"
#include "models/wam/dit.h"
#include "models/wam/flow_matching.h"
#include "models/wam/frozen_encoders.h"
#include "models/wam/step.h"
#include "models/wam/step_graphs.h"

namespace wam {

// The world-action model as the trainer sees it: pictures, state, actions and text in, losses out.
// Threads: one.
class WamModel final : public Model {
 public:
  struct Options {
    WamConfig config;
    at::ScalarType compute_type = at::kBFloat16;  // bf16, fp32 or, in tests, fp64
    at::Device device = at::kCPU;
    RecomputePlan recompute;
    bool graphs = false;  // on a GPU: one replay a micro-step
    GraphObserver* graph_observer = nullptr;
    StepClock* clock = nullptr;  // is told what a micro-step is at; null: nobody asks
    bool deterministic = true;   // of attention's backward on a GPU
  };

  // `encoders`, observer and clock must outlive the model. Errors: ConfigError when sizes do not
  // fit each other.
  WamModel(const Options& options, FrozenEncoders& encoders);

  [[nodiscard]] const std::vector<UnitSpec>& units() const override { return dit_.units(); }
  void initialise(const TensorSpec& tensor, std::uint64_t seed, at::Tensor out) const override;

  Losses train(const Batch& batch, Sharding& sharding, std::uint64_t seed, double weight) override;
  Losses evaluate(const Batch& batch, Sharding& sharding, std::uint64_t seed) override;
  Prediction predict(const Batch& batch,
                     Sharding& sharding,
                     std::uint64_t seed,
                     std::int64_t steps) override;

  // With graphs on several ranks: all of them rehearse all forms of batches that may come, each its
  // own at the same time (empty ones too), between begin_micro_step of that kind; then nothing is
  // recorded any more while others train. Adds nothing to the gradients.
  void rehearse(const Batch& batch, Sharding& sharding);
  void end_rehearsal();

  // Pictures, text and vectors of a batch as the transformer reads them. Pictures that come encoded
  // are taken as they are; the encoders are not asked then.
  [[nodiscard]] EncodedBatch encode(const Batch& batch);
  [[nodiscard]] Dit& dit() noexcept { return dit_; }

 private:
  [[nodiscard]] Draws draws_for(const Batch& batch,
                                const EncodedBatch& encoded,
                                std::uint64_t seed) const;
  [[nodiscard]] Losses no_losses() const;
  void enter(Activity activity);

  Options options_;
  FrozenEncoders& encoders_;
  std::unique_ptr<AttentionEngine> attention_;
  Dit dit_;
  FlowSchedule schedule_;
  std::unique_ptr<StepGraphs> graphs_;  // null: every operation is launched
};

}  // namespace wam
