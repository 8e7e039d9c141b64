#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/train/loop.h"
#include "parallel/strategies/sharded_units.h"
#include "test/unit/core/train/checkpoint_support.h"

namespace wam::test {

// Unit "stem", which nothing uses, and unit "unit" with tensors "w" (6) and "b" (1, not decayed).
// Sample s has the loss |w - x(s)|^2 + b^2,
// half of it called video, half action; x(s) is a fixed function of its ordinal.
class FakeModel : public Model {
 public:
  FakeModel();
  [[nodiscard]] const std::vector<UnitSpec>& units() const override { return units_; }
  void initialise(const TensorSpec& tensor, std::uint64_t seed, at::Tensor out) const override;
  Losses train(const Batch& batch, Sharding& sharding, std::uint64_t seed, double weight) override;
  Losses evaluate(const Batch& batch, Sharding& sharding, std::uint64_t seed) override;
  Prediction predict(const Batch& batch,
                     Sharding& sharding,
                     std::uint64_t seed,
                     std::int64_t steps) override;

  std::set<std::uint64_t> bad_ordinals;  // samples whose gradient of "b" is `bad_gradient`
  double bad_gradient = std::numeric_limits<double>::infinity();
  std::function<void(std::uint64_t ordinal)> on_sample = [](std::uint64_t) {};

 private:
  std::vector<UnitSpec> units_;
};

// Global batches of consecutive ordinals in micro-batches. An epoch has 20 samples; sample n is
// frame n of episode 7.
class FakeSource : public BatchSource {
 public:
  FakeSource(std::int64_t global_batch, std::int64_t micro_batch, std::uint64_t start = 0)
      : global_(global_batch), micro_(micro_batch), at_(start) {}
  Batch next() override;
  // How many windows were left out for a sample: frames 100, 101, … of episode 9.
  std::map<std::uint64_t, int> replaced;
  [[nodiscard]] std::int64_t micro_steps() const override {
    return (global_ + micro_ - 1) / micro_;
  }
  [[nodiscard]] std::uint64_t samples_consumed() const override { return at_; }
  [[nodiscard]] std::uint64_t epoch_size() const override { return 20; }

 private:
  std::int64_t global_;
  std::int64_t micro_;
  std::uint64_t at_;             // of complete global batches
  std::int64_t handed_out_ = 0;  // of the next one
};

// A loop with everything that it needs, in a folder of its own.
class FakeRun {
 public:
  FakeRun(const std::filesystem::path& folder, std::int64_t global_batch, std::int64_t micro_batch);
  LoopEnd run(std::int64_t first_step = 0);
  // The lines of metrics.jsonl.
  [[nodiscard]] std::vector<std::string> lines() const;
  [[nodiscard]] std::string log_text() const { return log_.text(); }
  [[nodiscard]] std::vector<float> weights();
  // Bytes of weights and moments.
  [[nodiscard]] std::string state();

  LoopOptions options;
  FakeModel model;
  ShardedUnits sharding;
  AdamW optimizer;
  StepClock clock{at::kCPU};
  std::vector<std::int64_t> saved;  // steps
  std::function<void()> on_save = [] {};
  std::set<std::string> bad_windows;
  StopAgreement* stop = nullptr;  // null: this process's signals
  PhaseObserver* observer = nullptr;
  std::function<bool()> saving = [] { return false; };
  std::function<void()> before_update = [] {};
  FakeSource source;

 private:
  QuietLog log_;
};

}  // namespace wam::test
