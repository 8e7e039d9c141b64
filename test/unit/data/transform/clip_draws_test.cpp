#include "data/transform/clip_draws.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

#include "test/support/catch.h"

using wam::JitterOp;
using wam::ViewGeometry;

namespace {

std::vector<JitterOp> order_of(const wam::ClipDraws& draws) {
  std::vector<JitterOp> out;
  for (std::int64_t i = 0; i < draws.steps; ++i) out.push_back(draws.step[i].op);
  return out;
}

float factor_of(const wam::ClipDraws& draws, JitterOp op) {
  for (const auto& step : draws.step) {
    if (step.op == op) return step.factor;
  }
  return -1;
}

}  // namespace

TEST_CASE("crop sizes are cut, centre offsets rounded half to even") {
  const std::vector<std::pair<std::int64_t, std::int64_t>> crops = {
      {256, 243}, {180, 171}, {320, 304}, {480, 456}, {640, 608}};
  for (const auto& [in, crop] : crops) {
    CHECK(ViewGeometry{in, in, 0.95, in, in}.crop_height() == crop);
  }
  const std::vector<std::pair<std::int64_t, std::int64_t>> offsets = {
      {180, 4}, {240, 6}, {256, 6}, {320, 8}};
  for (const auto& [in, offset] : offsets) {
    CHECK(wam::centre_clip({in, in, 0.95, in, in}).top == offset);
  }
}

TEST_CASE(
    "draws depend on the sample alone, cover their ranges and leave out what has no strength") {
  const ViewGeometry geometry{180, 320, 0.95, 176, 320};
  const wam::JitterStrength strength{0.3, 0.4, 0.5, 0.08};
  std::set<std::int64_t> tops, lefts;
  std::set<std::vector<JitterOp>> orders;
  float low = 9, high = 0;
  for (std::uint64_t ordinal = 0; ordinal < 2000; ++ordinal) {
    const wam::CounterStream stream(5, wam::Purpose::kAugmentation, ordinal);
    const wam::ClipDraws draws = wam::draw_clip(geometry, strength, stream);
    tops.insert(draws.top);
    lefts.insert(draws.left);
    orders.insert(order_of(draws));
    low = std::min(low, factor_of(draws, JitterOp::kContrast));
    high = std::max(high, factor_of(draws, JitterOp::kContrast));
    REQUIRE(std::abs(factor_of(draws, JitterOp::kHue)) <= 0.08F);
    REQUIRE(draws.steps == 4);
  }
  CHECK(tops.size() == 10);
  CHECK(lefts.size() == 17);
  CHECK(orders.size() == 24);
  CHECK(low == Approx(0.6).margin(0.005));
  CHECK(high == Approx(1.4).margin(0.005));

  const wam::CounterStream stream(5, wam::Purpose::kAugmentation, 1);
  const wam::ClipDraws all = wam::draw_clip(geometry, strength, stream);
  const wam::ClipDraws some = wam::draw_clip(geometry, {0.3, 0, 0.5, 0}, stream);
  CHECK(some.steps == 2);
  CHECK(factor_of(some, JitterOp::kSaturation) == factor_of(all, JitterOp::kSaturation));
  CHECK(some.left == all.left);
}
