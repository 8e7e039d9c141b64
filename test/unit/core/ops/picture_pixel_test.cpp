#include "core/ops/picture/picture_pixel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/ops/picture/picture_vector_scalar.h"
#include "core/random/counter.h"
#include "test/support/catch.h"

namespace wam {
namespace {

using Colours = std::array<double, 3>;
using ScalarPixel = Pixel<Scalar>;

ScalarPixel pixel_of(const Colours& p) {
  return {static_cast<float>(p[0]), static_cast<float>(p[1]), static_cast<float>(p[2])};
}

void check_near(const ScalarPixel& value, const Colours& expected, double tolerance = 1e-6) {
  CHECK(std::abs(static_cast<double>(value.r) - expected[0]) <= tolerance);
  CHECK(std::abs(static_cast<double>(value.g) - expected[1]) <= tolerance);
  CHECK(std::abs(static_cast<double>(value.b) - expected[2]) <= tolerance);
}

JitterStep step_of(JitterOp op, double factor) {
  return {op, static_cast<float>(factor), static_cast<float>(1 - factor)};
}

ScalarPixel after(const JitterStep& step, const Colours& p, double mean = 0) {
  return jittered<Scalar>(pixel_of(p), &step, &step + 1, static_cast<float>(mean));
}

// The textbook conversion, in double and with branches.
Colours hue_turned(const Colours& p, double shift) {
  const double v = *std::max_element(p.begin(), p.end());
  const double range = v - *std::min_element(p.begin(), p.end());
  if (range == 0) return p;
  const double s = range / v;
  double h = v == p[0]   ? std::fmod((p[1] - p[2]) / range + 6, 6)
             : v == p[1] ? (p[2] - p[0]) / range + 2
                         : (p[0] - p[1]) / range + 4;
  h = std::fmod(h / 6 + shift + 1, 1.0) * 6;
  const double f = h - std::floor(h);
  const double a = v * (1 - s);
  const double q = v * (1 - s * f);
  const double t = v * (1 - s * (1 - f));
  switch (static_cast<int>(h)) {
    case 0:
      return {v, t, a};
    case 1:
      return {q, v, a};
    case 2:
      return {a, v, t};
    case 3:
      return {a, q, v};
    case 4:
      return {t, a, v};
    default:
      return {v, a, q};
  }
}

std::vector<Colours> some_pixels() {
  std::vector<Colours> pixels = {{0, 0, 0}, {1, 1, 1}, {0.5, 0.5, 0.5}, {1, 0, 0}, {0, 1, 0},
                                 {0, 0, 1}, {1, 1, 0}, {0, 1, 1},       {1, 0, 1}, {0.2, 0.2, 0.1}};
  const CounterStream stream(3, Purpose::kAugmentation, 0);
  for (std::uint64_t i = 0; i < 90; ++i) {
    pixels.push_back({std::floor(stream.uniform(3 * i) * 256) / 255,
                      std::floor(stream.uniform(3 * i + 1) * 256) / 255,
                      std::floor(stream.uniform(3 * i + 2) * 256) / 255});
    for (auto& value : pixels.back()) value = std::min(value, 1.0);
  }
  return pixels;
}

TEST_CASE("brightness multiplies and clamps") {
  check_near(after(step_of(JitterOp::kBrightness, 1.2), {0.5, 0.25, 0.9}), {0.6, 0.3, 1.0});
}

TEST_CASE("contrast moves towards the picture's mean luma") {
  const double mean = 0.3;
  const JitterStep step = step_of(JitterOp::kContrast, 0.6);

  check_near(after(step, {0.5, 0.25, 0.9}, mean), {0.42, 0.27, 0.66});
  check_near(after(step, {0, 0, 0}, mean), {0.12, 0.12, 0.12});
  check_near(after(step_of(JitterOp::kContrast, 1.4), {0, 1, 0.5}, 0.4), {0, 1, 0.54});
}

TEST_CASE("saturation moves each pixel towards its own luma") {
  const double luma = 0.2989 * 0.5 + 0.587 * 0.25 + 0.114 * 0.9;
  CHECK(luma_of<Scalar>(pixel_of({0.5, 0.25, 0.9})) == Approx(luma));

  check_near(after(step_of(JitterOp::kSaturation, 0.5), {0.5, 0.25, 0.9}),
             {0.25 + luma / 2, 0.125 + luma / 2, 0.45 + luma / 2});
  const ScalarPixel strong = after(step_of(JitterOp::kSaturation, 1.5), {0.9, 0.1, 0.1});
  CHECK(strong.r == 1.0F);
  CHECK(strong.g == 0.0F);
}

TEST_CASE("hue turns as the textbook says, in every sector, for greys too") {
  for (const double shift : {-0.5, -0.08, 0.0, 0.013, 0.08, 1.0 / 6, 0.5}) {
    for (const auto& p : some_pixels()) {
      INFO("pixel " << p[0] << " " << p[1] << " " << p[2] << " shift " << shift);
      check_near(after(step_of(JitterOp::kHue, shift), p),
                 hue_turned(p, static_cast<double>(static_cast<float>(shift))), 1e-6);
    }
  }
}

TEST_CASE("a third of a turn sends red to green exactly") {
  const JitterStep third = step_of(JitterOp::kHue, 1.0 / 3);
  check_near(after(third, {1, 0, 0}), {0, 1, 0});
  check_near(after(third, {0, 1, 0}), {0, 0, 1});
  check_near(after(third, {0, 0, 1}), {1, 0, 0});
}

// What is cut to 8 bits later would lose a whole level by the smallest rounding.
TEST_CASE("a turn of the hue keeps black, white, greys and full colours to the last bit") {
  for (const float turn : {-0.08F, -0.0331F, 0.0F, 0.0719F}) {
    for (int level = 0; level < 256; ++level) {
      const float p = static_cast<float>(level) / 255.0F;
      const ScalarPixel grey = hue_turned<Scalar>({p, p, p}, turn);
      REQUIRE((grey.r == p && grey.g == p && grey.b == p));
      const ScalarPixel full = hue_turned<Scalar>({1.0F, p / 2, 0.0F}, turn);
      REQUIRE(std::max({full.r, full.g, full.b}) == 1.0F);
      REQUIRE(std::min({full.r, full.g, full.b}) == 0.0F);
    }
  }
}

TEST_CASE("levels become their 255th, as a division rounds it") {
  for (int level = 0; level < 256; ++level) {
    const auto p = static_cast<float>(level);
    REQUIRE(unit_of_level<Scalar>(p) == p / 255.0F);
    REQUIRE(static_cast<int>(unit_of_level<Scalar>(p) * 255.0F) == level);
  }
}

}  // namespace
}  // namespace wam
