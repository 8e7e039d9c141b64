#include "data/normalise/normaliser.h"

#include <cmath>
#include <string>
#include <vector>

#include "core/base/errors.h"
#include "test/support/catch.h"

using wam::Embodiment;
using wam::KeyStatistics;
using wam::Normalisation;
using wam::Normaliser;
using wam::Statistics;
using wam::VectorNormaliser;

namespace {

// Three dimensions: an ordinary one, one without range, and one whose range is not a float.
KeyStatistics three() {
  KeyStatistics s;
  s.min = {-1, 3, 0};
  s.max = {3, 3, 0.3};
  s.mean = {1, 3, 0.1};
  s.std = {0.5, 0, 0.1};
  s.q01 = {0, 3, 0.1};
  s.q99 = {2, 3, 0.3};
  return s;
}

std::vector<float> forward(const Normaliser& normaliser, std::vector<float> row) {
  normaliser.forward(row.data(), row.data());
  return row;
}

Embodiment embodiment(bool relative) {
  Embodiment e;
  e.tag = "arm";
  e.state_keys = {"joint", "grip"};
  e.action_keys = {"joint", "grip"};
  for (const auto* key : {"state.joint", "state.grip", "action.joint", "action.grip"}) {
    e.normalisation[key] = Normalisation::kQ99;
  }
  if (relative) e.relative_action_keys = {"joint"};
  return e;
}

KeyStatistics around(double mean, double std) {
  KeyStatistics s;
  s.min = {mean - 2 * std};
  s.max = {mean + 2 * std};
  s.mean = {mean};
  s.std = {std};
  s.q01 = s.min;
  s.q99 = s.max;
  return s;
}

Statistics statistics(const KeyStatistics& joint_action) {
  Statistics s;
  s.tag = "arm";
  s.state = {{"joint", around(1, 0.5)}, {"grip", around(0.5, 0.2)}};
  s.action = {{"joint", joint_action}, {"grip", around(0.5, 0.2)}};
  return s;
}

}  // namespace

TEST_CASE("q99 maps its quantiles to -1 and 1, clamps, and passes constants through clamped") {
  const Normaliser normaliser(Normalisation::kQ99, three());

  CHECK(forward(normaliser, {0, 0.04F, 0.1F}) == std::vector<float>{-1, 0.04F, -1});
  CHECK(forward(normaliser, {2, 3, 0.3F})[0] == 1);
  CHECK(forward(normaliser, {1.5F, -7, 9}) == std::vector<float>{0.5F, -1, 1});
}

TEST_CASE("q99 keeps the reference's order of float32 operations") {
  const Normaliser normaliser(Normalisation::kQ99, three());
  const float low = 0.1F;
  const float span = 0.3F - low;
  for (int i = 0; i < 100; ++i) {
    const float x = 0.1F + 0.002F * static_cast<float>(i);
    volatile float share = (x - low) / span;
    volatile float twice = 2.0F * share;
    CHECK(forward(normaliser, {0, 0, x})[2] == std::min(1.0F, std::max(-1.0F, twice - 1.0F)));
  }
}

TEST_CASE("min_max gives 0 without a range, mean_std is not clamped") {
  CHECK(forward(Normaliser(Normalisation::kMinMax, three()), {-1, 3, 0.15F}) ==
        std::vector<float>{-1, 0, 0});
  CHECK(forward(Normaliser(Normalisation::kMeanStd, three()), {3, 5, 0.1F}) ==
        std::vector<float>{4, 5, 0});
}

TEST_CASE("the inverse brings values back, a constant to its constant") {
  for (const auto mode : {Normalisation::kQ99, Normalisation::kMinMax, Normalisation::kMeanStd}) {
    const Normaliser normaliser(mode, three());
    const auto y = forward(normaliser, {0.75F, 3, 0.2F});
    const std::vector<double> in(y.begin(), y.end());
    std::vector<double> back(3);

    normaliser.inverse(in.data(), back.data());

    CHECK(back[0] == Approx(0.75));
    CHECK(back[1] == Approx(3));
    CHECK(back[2] == Approx(0.2).epsilon(1e-5));
  }
}

TEST_CASE("keys stand side by side in the record's order, with names per dimension") {
  auto relative = around(0, 0.1);
  relative.relative = true;
  const auto action = VectorNormaliser::of_action(embodiment(true), statistics(relative));
  const std::vector<float> in = {0.2F, 0.5F};
  std::vector<float> out(2);

  action.forward(in.data(), out.data());

  CHECK(action.names() == std::vector<std::string>{"joint[0]", "grip[0]"});
  CHECK(out[0] == 1);
  CHECK(std::abs(out[1]) < 1e-6F);
}

TEST_CASE("statistics of another kind of action are refused") {
  auto flagged = around(0, 0.1);
  flagged.relative = true;
  CHECK_THROWS_WITH(VectorNormaliser::of_action(embodiment(false), statistics(flagged)),
                    Catch::Contains("action.joint is trained as it is") && Catch::Contains("Fix:"));
  flagged.relative = false;
  CHECK_THROWS_WITH(VectorNormaliser::of_action(embodiment(true), statistics(flagged)),
                    Catch::Contains("action.joint is trained relative to the state"));
}

TEST_CASE("statistics that do not say what they are of follow the record") {
  CHECK_NOTHROW(VectorNormaliser::of_action(embodiment(true), statistics(around(0, 0.1))));
  CHECK_NOTHROW(VectorNormaliser::of_action(embodiment(false), statistics(around(1, 0.5))));
  CHECK_NOTHROW(VectorNormaliser::of_action(embodiment(true), statistics(around(1.01, 0.51))));
}

TEST_CASE("missing keys are named all at once, with the nearest that there is") {
  Embodiment other = embodiment(false);
  other.state_keys = {"joints", "wheel"};

  CHECK_THROWS_WITH(VectorNormaliser::of_state(other, statistics(around(1, 0.5))),
                    Catch::Contains("state.joints has none (did you mean 'joint'?)") &&
                        Catch::Contains("state.wheel has none (there are grip, joint)"));
}
