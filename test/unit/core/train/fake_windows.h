#pragma once

#include <set>
#include <string>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include "core/base/errors.h"
#include "core/train/dataset.h"
#include "core/train/model.h"
#include "core/train/validation.h"
#include "test/support/clip_plans.h"

// Held-back windows and a model whose figures can be computed by hand.

namespace wam::test {

inline constexpr std::int64_t kSamplerSteps = 5;  // of the sampler

// Window 2 i + 1 shows i: the picture is i, the prompt says i, two actions are (i / 10, -i / 10)
// and a padded third value. Window 7 is one action long. Even windows are not to be asked for. In a
// mixture, window 5 is of a second dataset, whose actions have the first value only.
class FakeWindows : public wam::Dataset {
 public:
  explicit FakeWindows(std::uint64_t size) : size_(size) {}
  [[nodiscard]] std::uint64_t size() const override { return size_; }
  [[nodiscard]] wam::SampleId identify(std::uint64_t window_idx) const override {
    return {.dataset = mixture && window_idx == 5 ? 1 : 0,
            .episode = 3,
            .frame = static_cast<std::int64_t>(window_idx)};
  }
  [[nodiscard]] Sample load(std::uint64_t window_idx,
                            std::uint64_t ordinal,
                            wam::Transforms transforms) const override {
    wam::invariant(transforms == wam::Transforms::kEvaluation, "evaluation transforms");
    Sample sample;
    sample.id = identify(window_idx);
    sample.ordinal = ordinal;
    const auto i = static_cast<double>(window_idx / 2);
    sample.clip = test::still_clip(at::full({1, 2, 2, 3}, i, at::kByte));
    sample.state_NS = at::zeros({1, 4}, at::kFloat);
    sample.action_PA = at::tensor({i / 10, -i / 10, 0.0}, at::kFloat).repeat({2, 1});
    sample.action_mask_PA = at::ones({2, 3}, at::kBool);
    sample.action_mask_PA.select(1, 2).fill_(false);
    if (window_idx == 7) sample.action_mask_PA[1].fill_(false);
    if (sample.id.dataset == 1) sample.action_mask_PA.select(1, 1).fill_(false);
    sample.prompt = std::to_string(window_idx / 2);
    return sample;
  }
  [[nodiscard]] std::vector<std::string> prompts() const override { return {}; }
  [[nodiscard]] std::string fingerprint() const override { return "fake"; }
  [[nodiscard]] wam::ActionMeaning action_meaning(std::int32_t /*dataset*/) const override {
    return {.names = {"lift", "turn"}};
  }
  [[nodiscard]] at::Tensor physical_actions(std::int32_t dataset,
                                            const at::Tensor& action_PA) const override {
    if (dataset == 1) return action_PA.to(at::kDouble).slice(1, 0, 1) * 20.0;
    const at::Tensor real = action_PA.to(at::kDouble).slice(1, 0, 2);
    return real * at::tensor({10.0, 100.0}, at::kDouble) + 1.0;
  }

  bool mixture = false;

 private:
  std::uint64_t size_;
};

inline Batch collate_windows(const std::vector<Sample>& samples) {
  Batch batch;
  std::vector<at::Tensor> images;
  std::vector<at::Tensor> actions;
  std::vector<at::Tensor> masks;
  for (const auto& sample : samples) {
    batch.id.push_back(sample.id);
    batch.ordinal.push_back(sample.ordinal);
    batch.prompt.push_back(sample.prompt);
    images.push_back(image_of(sample.clip));
    actions.push_back(sample.action_PA);
    masks.push_back(sample.action_mask_PA);
  }
  batch.image_BTHWC = at::stack(images);
  batch.action_BPA = at::stack(actions);
  batch.action_mask_BPA = at::stack(masks);
  return batch;
}

// Answers (what the picture shows / 10 + 0.05, what the prompt says / -10, 0.9).
class WindowModel : public wam::Model {
 public:
  [[nodiscard]] const std::vector<wam::UnitSpec>& units() const override { return units_; }
  void initialise(const wam::TensorSpec& /*tensor*/,
                  std::uint64_t /*seed*/,
                  at::Tensor /*out*/) const override {}
  Losses train(const Batch& /*batch*/,
               wam::Sharding& /*sharding*/,
               std::uint64_t /*seed*/,
               double /*weight*/) override {
    throw wam::InvariantError("validation does not train");
  }
  // Video loss of a sample: its ordinal + 1; action loss: ten times that.
  Losses evaluate(const Batch& batch, wam::Sharding& /*sharding*/, std::uint64_t seed) override {
    seeds.insert(seed);
    double sum = 0;
    for (const auto ordinal : batch.ordinal) sum += static_cast<double>(ordinal) + 1;
    sizes.push_back(batch.size());
    return {.loss = at::full({}, 11 * sum, at::kFloat),
            .video = at::full({}, sum, at::kFloat),
            .action = at::full({}, 10 * sum, at::kFloat)};
  }
  Prediction predict(const Batch& batch,
                     wam::Sharding& /*sharding*/,
                     std::uint64_t seed,
                     std::int64_t steps) override {
    wam::invariant(steps == kSamplerSteps, "the sampler's steps");
    ++predictions;
    seeds.insert(seed);
    at::Tensor action = at::full({batch.size(), 2, 3}, 0.9, at::kFloat);
    for (std::int64_t b = 0; b < batch.size(); ++b) {
      const auto shown = batch.image_BTHWC[b].max().item<double>();
      action[b].select(1, 0).fill_(shown / 10 + 0.05);
      action[b].select(1, 1).fill_(-std::stod(batch.prompt[static_cast<std::size_t>(b)]) / 10);
    }
    return {.action_BPA = action, .latent_BCFYX = {}};
  }

  std::set<std::uint64_t> seeds;
  std::vector<std::int64_t> sizes;  // of what was evaluated
  int predictions = 0;

 private:
  std::vector<wam::UnitSpec> units_{wam::make_unit("unit", {{.name = "w", .shape = {1}}})};
};

}  // namespace wam::test
