#include "core/train/validation.h"

#include <fstream>

// Before catch.h, whose macros they have too.
#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros.h>

#include <nlohmann/json.hpp>

#include "parallel/strategies/sharded_units.h"
#include "test/support/catch.h"
#include "test/support/temp_folder.h"
#include "test/unit/core/train/fake_windows.h"

using wam::Validator;
using wam::test::collate_windows;
using wam::test::FakeWindows;
using wam::test::kSamplerSteps;
using wam::test::WindowModel;

namespace {

struct Setup {
  FakeWindows windows{8};
  WindowModel model;
  wam::ShardedUnits sharding{model.units(), {}};
  wam::test::TempFolder folder;
  wam::ValidationOptions options{.windows = 4,
                                 .sampling_steps = kSamplerSteps,
                                 .micro_batch = 3,
                                 .seed = 9,
                                 .shuffled = true,
                                 .windows_kept = 2};

  wam::ValidationMetrics run() {
    return Validator(windows, collate_windows, options).run(model, sharding, 7, folder.path());
  }
};

}  // namespace

TEST_CASE("validation: losses are means over windows, spread evenly over what is held back") {
  Setup setup;

  const auto metrics = setup.run();

  CHECK(metrics.step == 7);
  CHECK(metrics.windows == 4);
  CHECK(setup.model.sizes == std::vector<std::int64_t>({3, 1}));
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
  const Validator validator(setup.windows, collate_windows, setup.options);

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

TEST_CASE("validation: fewer windows than asked for are all taken, none is an error") {
  Setup setup;
  setup.options.windows = 100;
  CHECK(Validator(setup.windows, collate_windows, setup.options).windows() == 8);

  const FakeWindows none(0);
  CHECK_THROWS_WITH(Validator(none, collate_windows, setup.options),
                    Catch::Contains("hold no complete window") && Catch::Contains("Fix: "));
}
