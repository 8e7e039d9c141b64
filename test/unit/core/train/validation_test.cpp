#include "core/train/validation.h"

#include <fstream>
#include <set>

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <nlohmann/json.hpp>

#include "core/base/errors.h"
#include "parallel/strategies/sharded_units.h"
#include "test/support/catch.h"
#include "test/support/temp_folder.h"

using wam::Batch;
using wam::Losses;
using wam::Prediction;
using wam::Sample;
using wam::Validator;

namespace {

constexpr std::int64_t kSteps = 5;  // of the sampler

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
    CHECK(transforms == wam::Transforms::kEvaluation);
    Sample sample;
    sample.id = identify(window_idx);
    sample.ordinal = ordinal;
    const auto i = static_cast<double>(window_idx / 2);
    sample.image_THWC = at::full({1, 2, 2, 3}, i, at::kByte);
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

Batch collate(const std::vector<Sample>& samples) {
  Batch batch;
  std::vector<at::Tensor> images;
  std::vector<at::Tensor> actions;
  std::vector<at::Tensor> masks;
  for (const auto& sample : samples) {
    batch.id.push_back(sample.id);
    batch.ordinal.push_back(sample.ordinal);
    batch.prompt.push_back(sample.prompt);
    images.push_back(sample.image_THWC);
    actions.push_back(sample.action_PA);
    masks.push_back(sample.action_mask_PA);
  }
  batch.image_BTHWC = at::stack(images);
  batch.action_BPA = at::stack(actions);
  batch.action_mask_BPA = at::stack(masks);
  return batch;
}

// Answers (what the picture shows / 10 + 0.05, what the prompt says / -10, 0.9).
class FakeModel : public wam::Model {
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
    CHECK(steps == kSteps);
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
  std::vector<std::int64_t> sizes;

 private:
  std::vector<wam::UnitSpec> units_{wam::make_unit("unit", {{.name = "w", .shape = {1}}})};
};

struct Setup {
  FakeWindows windows{8};
  FakeModel model;
  wam::ShardedUnits sharding{model.units(), {}};
  wam::test::TempFolder folder;
  wam::ValidationOptions options{.windows = 4,
                                 .sampling_steps = kSteps,
                                 .micro_batch = 3,
                                 .seed = 9,
                                 .shuffled = true,
                                 .windows_kept = 2};

  wam::ValidationMetrics run() {
    return Validator(windows, collate, options).run(model, sharding, 7, folder.path());
  }
};

}  // namespace

TEST_CASE("validation: losses are means over windows, spread evenly over what is held back") {
  Setup setup;

  const auto metrics = setup.run();

  CHECK(metrics.step == 7);
  CHECK(metrics.windows == 4);
  CHECK(setup.model.sizes == std::vector<std::int64_t>{3, 1});
  CHECK(metrics.video_loss == Approx((1 + 2 + 3 + 4) / 4.0));
  CHECK(metrics.action_loss == Approx(10 * (1 + 2 + 3 + 4) / 4.0));
}

TEST_CASE("validation: action errors as computed by hand, padding left out") {
  Setup setup;

  const auto metrics = setup.run();

  // Seven real actions: of windows 1, 3 and 5 two each, of window 7 one. The model errs by 0.05 in
  // the first value and not at all in the second.
  CHECK(metrics.action_error == Approx(0.05 / 2).epsilon(1e-5));
  REQUIRE(metrics.action_names == std::vector<std::string>{"lift", "turn"});
  REQUIRE(metrics.action_error_per_dim.size() == 2);
  CHECK(metrics.action_error_per_dim[0] == Approx(0.05).epsilon(1e-5));
  CHECK(metrics.action_error_per_dim[1] == Approx(0).margin(1e-7));
  REQUIRE(metrics.action_error_physical.size() == 2);
  CHECK(metrics.action_error_physical[0] == Approx(0.5).epsilon(1e-5));
  CHECK(metrics.action_error_physical[1] == Approx(0).margin(1e-5));
}

TEST_CASE(
    "validation: embodiments of different action widths go together, each value by its place") {
  Setup setup;
  setup.windows.mixture = true;

  const auto metrics = setup.run();

  // Of the seven actions, two are of the second dataset: 0.05 is 1 in its units, 0.5 in the
  // other's.
  REQUIRE(metrics.action_error_physical.size() == 2);
  CHECK(metrics.action_error_physical[0] == Approx((5 * 0.5 + 2 * 1.0) / 7).epsilon(1e-5));
  CHECK(metrics.action_error_physical[1] == Approx(0).margin(1e-5));
}

TEST_CASE("validation: the error of the mean action, and with pictures and prompts exchanged") {
  Setup setup;

  const auto metrics = setup.run();

  // First value: 0 0 .1 .1 .2 .2 .3, mean 9/70; the second is its negative.
  const double mean = 0.9 / 7;
  const double spread = (2 * mean + 2 * (mean - 0.1) + 2 * (0.2 - mean) + (0.3 - mean)) / 7;
  CHECK(metrics.mean_action_error == Approx(spread).epsilon(1e-5));
  // Windows 0 1 2 3 get what 2 3 0 1 show and say: the first value is off by .25 .25 .15 .15, the
  // second by .2 everywhere.
  REQUIRE(metrics.shuffled_error.has_value());
  const double first = (2 * 0.25 + 2 * 0.25 + 2 * 0.15 + 0.15) / 7;
  CHECK(*metrics.shuffled_error == Approx((first + 0.2) / 2).epsilon(1e-5));
}

TEST_CASE("validation: without the exchange there is no such error") {
  Setup setup;
  setup.options.shuffled = false;

  CHECK_FALSE(setup.run().shuffled_error.has_value());
}

TEST_CASE("validation: the same draws every time, and not those of training") {
  Setup setup;
  const Validator validator(setup.windows, collate, setup.options);

  const auto first = validator.run(setup.model, setup.sharding, 1, setup.folder.path());
  const auto second = validator.run(setup.model, setup.sharding, 2, setup.folder.path());

  CHECK(first.action_error == second.action_error);
  CHECK(setup.model.seeds.size() == 1);
  CHECK_FALSE(setup.model.seeds.contains(9));
}

TEST_CASE("validation: keeps actions of a few windows, spread over all, in physical units") {
  Setup setup;

  setup.run();

  std::ifstream in(setup.folder.path() / "validation" / "step_00000007.json");
  const auto file = nlohmann::json::parse(in);
  CHECK(file["step"] == 7);
  REQUIRE(file["windows"].size() == 2);
  const auto& window = file["windows"][1];
  CHECK(file["windows"][0]["id"]["frame"] == 1);
  CHECK(window["id"]["frame"] == 5);
  CHECK(window["prompt"] == "2");
  CHECK(window["names"] == nlohmann::json({"lift", "turn"}));
  REQUIRE(window["truth"].size() == 2);
  CHECK(window["truth"][0][0].get<double>() == Approx(3));
  CHECK(window["truth"][0][1].get<double>() == Approx(-19));
  CHECK(window["prediction"][0][0].get<double>() == Approx(3.5));
}

TEST_CASE("validation: fewer windows than asked for are all taken; none is an error") {
  Setup setup;
  setup.options.windows = 100;
  CHECK(Validator(setup.windows, collate, setup.options).windows() == 8);

  const FakeWindows none(0);
  CHECK_THROWS_WITH(Validator(none, collate, setup.options),
                    Catch::Contains("hold no complete window") && Catch::Contains("Fix: "));
}
