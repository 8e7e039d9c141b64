#include "data/normalise/settle.h"

#include <vector>

#include "data/normalise/normaliser.h"
#include "test/support/catch.h"

using Catch::Contains;
using wam::Embodiment;
using wam::KeyStatistics;
using wam::Normalisation;
using wam::settle;
using wam::Statistics;

namespace {

Embodiment arm(Normalisation mode, bool relative) {
  Embodiment e;
  e.tag = "arm";
  e.state_keys = {"joint"};
  e.action_keys = {"joint"};
  e.normalisation = {{"state.joint", mode}, {"action.joint", mode}};
  if (relative) e.relative_action_keys = {"joint"};
  return e;
}

// A dimension that moves, one that hardly does, and one that does not.
KeyStatistics three(double mean) {
  KeyStatistics s;
  s.min = {mean - 2, mean - 1e-4, mean};
  s.max = {mean + 2, mean + 1e-4, mean};
  s.mean = {mean, mean, mean};
  s.std = {0.7, 2e-5, 0};
  s.q01 = {mean - 1, mean - 5e-5, mean};
  s.q99 = {mean + 1, mean + 5e-5, mean};
  return s;
}

Statistics statistics(double state_mean, double action_mean) {
  Statistics s;
  s.tag = "arm";
  s.state = {{"joint", three(state_mean)}};
  s.action = {{"joint", three(action_mean)}};
  return s;
}

}  // namespace

TEST_CASE("without a floor the bounds stay, and actions are what the embodiment says") {
  const Statistics given = statistics(5, 0);
  for (const bool relative : {false, true}) {
    const auto settled = settle(given, arm(Normalisation::kQ99, relative), 0);
    CHECK(settled.remarks.empty());
    CHECK(settled.statistics.action.at("joint").relative == relative);
    CHECK(settled.statistics.state == given.state);
    CHECK(settled.statistics.action.at("joint").q99 == given.action.at("joint").q99);
  }
  Statistics flagged = given;
  flagged.action.at("joint").relative = false;
  const auto kept = settle(flagged, arm(Normalisation::kQ99, true), 0);
  CHECK(kept.statistics == flagged);  // the normaliser refuses it
}

TEST_CASE("relative actions whose numbers look like the state's are remarked on") {
  const auto settled = settle(statistics(5, 5), arm(Normalisation::kQ99, true), 0);
  REQUIRE(settled.remarks.size() == 1);
  CHECK_THAT(settled.remarks[0], Contains("action.joint is trained relative to the state") &&
                                     Contains("same range as the state's") && Contains("Fix: "));
  CHECK(settle(statistics(5, 5), arm(Normalisation::kQ99, false), 0).remarks.empty());
}

TEST_CASE("a floor widens narrow bounds around their middle, and says which it uses") {
  const double floor = 0.02;
  for (const auto mode : {Normalisation::kQ99, Normalisation::kMinMax, Normalisation::kMeanStd}) {
    const auto settled = settle(statistics(1.2345678, 0.1), arm(mode, false), floor);
    const KeyStatistics& state = settled.statistics.state.at("joint");

    CHECK(state.q01[0] == 1.2345678 - 1);
    CHECK(state.std[0] == 0.7);
    for (const std::size_t d : {1U, 2U}) {
      CHECK(state.q99[d] - state.q01[d] == Approx(floor));
      CHECK(state.q01[d] + state.q99[d] == Approx(2 * 1.2345678));
      CHECK(state.max[d] - state.min[d] == Approx(floor));
      CHECK(state.std[d] == floor / 2);
    }
    REQUIRE(settled.remarks.size() == 2);
    CHECK_THAT(settled.remarks[0],
               Contains("state.joint: the range of dimension 1, 2 is widened to 0.02"));
  }
}

TEST_CASE("settling what is settled changes nothing more, whatever the numbers round to") {
  const Embodiment e = arm(Normalisation::kQ99, false);
  for (const double mean : {0.0, 0.1, 1.0 / 3, -123.456, 1e6}) {
    const auto once = settle(statistics(mean, -mean), e, 0.3);
    const auto twice = settle(once.statistics, e, 0.3);
    CHECK(twice.remarks.empty());
    CHECK(twice.statistics == once.statistics);
  }
}

TEST_CASE("noise of a dimension that hardly moves stays small under a floor, and is undone") {
  const Embodiment e = arm(Normalisation::kQ99, false);
  const auto settled = settle(statistics(1, 1), e, 0.02);
  const auto normaliser = wam::VectorNormaliser::of_state(e, settled.statistics);
  const std::vector<float> in = {1.5F, 1.00005F, 1.0F};
  std::vector<float> out(3);

  normaliser.forward(in.data(), out.data());

  CHECK(out[0] == 0.5F);
  CHECK(out[1] == Approx(0.005).epsilon(0.01));
  CHECK(out[2] == Approx(0.0).margin(1e-5));
  const std::vector<double> y(out.begin(), out.end());
  std::vector<double> back(3);
  normaliser.inverse(y.data(), back.data());
  for (std::size_t d = 0; d < 3; ++d) {
    CHECK(back[d] == Approx(static_cast<double>(in[d])).epsilon(1e-6));
  }
}
