#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/random/counter.h"
#include "data/transform/row_ops.h"
#include "test/support/catch.h"

using wam::PlanarRow;

namespace {

using Pixel = std::array<double, 3>;

struct Row {
  std::vector<float> r, g, b;
  explicit Row(const std::vector<Pixel>& pixels) {
    for (const auto& p : pixels) {
      r.push_back(static_cast<float>(p[0]));
      g.push_back(static_cast<float>(p[1]));
      b.push_back(static_cast<float>(p[2]));
    }
  }
  PlanarRow view() { return {r.data(), g.data(), b.data(), static_cast<std::int64_t>(r.size())}; }
  [[nodiscard]] Pixel at(std::size_t i) const { return {r[i], g[i], b[i]}; }
};

void check_near(const Pixel& value, const Pixel& expected, double tolerance = 1e-6) {
  for (std::size_t c = 0; c < 3; ++c) CHECK(std::abs(value[c] - expected[c]) <= tolerance);
}

// The textbook conversion, in double and with branches.
Pixel hue_turned(const Pixel& p, double shift) {
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

std::vector<Pixel> some_pixels() {
  std::vector<Pixel> pixels = {{0, 0, 0}, {1, 1, 1}, {0.5, 0.5, 0.5}, {1, 0, 0}, {0, 1, 0},
                               {0, 0, 1}, {1, 1, 0}, {0, 1, 1},       {1, 0, 1}, {0.2, 0.2, 0.1}};
  const wam::CounterStream stream(3, wam::Purpose::kAugmentation, 0);
  for (std::uint64_t i = 0; i < 90; ++i) {
    pixels.push_back({std::floor(stream.uniform(3 * i) * 256) / 255,
                      std::floor(stream.uniform(3 * i + 1) * 256) / 255,
                      std::floor(stream.uniform(3 * i + 2) * 256) / 255});
    for (auto& value : pixels.back()) value = std::min(value, 1.0);
  }
  return pixels;
}

}  // namespace

TEST_CASE("brightness multiplies and clamps") {
  Row row({{0.5, 0.25, 0.9}});

  wam::brighten_row(row.view(), 1.2F);

  check_near(row.at(0), {0.6, 0.3, 1.0});
}

TEST_CASE("contrast moves towards the picture's mean luma") {
  Row row({{0.5, 0.25, 0.9}, {0, 0, 0}});
  const double mean = wam::luma_sum(row.view()) / 2;
  CHECK(mean == Approx((0.2989 * 0.5 + 0.587 * 0.25 + 0.114 * 0.9) / 2));

  wam::contrast_row(row.view(), 0.6F, static_cast<float>(mean));

  check_near(row.at(0), {0.6 * 0.5 + 0.4 * mean, 0.6 * 0.25 + 0.4 * mean, 0.6 * 0.9 + 0.4 * mean});
  check_near(row.at(1), {0.4 * mean, 0.4 * mean, 0.4 * mean});
}

TEST_CASE("saturation moves each pixel towards its own luma") {
  Row row({{0.5, 0.25, 0.9}, {0.9, 0.1, 0.1}});
  const double luma = 0.2989 * 0.5 + 0.587 * 0.25 + 0.114 * 0.9;

  wam::saturate_row(row.view(), 0.5F);

  check_near(row.at(0), {0.25 + luma / 2, 0.125 + luma / 2, 0.45 + luma / 2});
  Row strong({{0.9, 0.1, 0.1}});
  wam::saturate_row(strong.view(), 1.5F);
  CHECK(strong.at(0)[0] == 1.0);
  CHECK(strong.at(0)[1] == 0.0);
}

TEST_CASE("hue turns as the textbook says, in every sector, for greys too") {
  for (const double shift : {-0.5, -0.08, 0.0, 0.013, 0.08, 1.0 / 6, 0.5}) {
    const auto pixels = some_pixels();
    Row row(pixels);

    wam::turn_hue_row(row.view(), static_cast<float>(shift));

    for (std::size_t i = 0; i < pixels.size(); ++i) {
      INFO("pixel " << i << " shift " << shift);
      check_near(row.at(i), hue_turned(pixels[i], static_cast<double>(static_cast<float>(shift))),
                 4e-6);
    }
  }
}

TEST_CASE("a third of a turn sends red to green exactly") {
  Row row({{1, 0, 0}, {0, 1, 0}, {0, 0, 1}});

  wam::turn_hue_row(row.view(), 1.0F / 3.0F);

  check_near(row.at(0), {0, 1, 0});
  check_near(row.at(1), {0, 0, 1});
  check_near(row.at(2), {1, 0, 0});
}

TEST_CASE("whole levels survive the way to float and back, and fractions are cut") {
  std::vector<std::uint8_t> rgb(3 * 256);
  for (std::size_t i = 0; i < rgb.size(); ++i) rgb[i] = static_cast<std::uint8_t>(i / 3);
  Row row(std::vector<Pixel>(256));
  wam::unpack_row(rgb.data(), row.view());
  std::vector<std::uint8_t> back(rgb.size());

  wam::pack_row(row.view(), 1, back.data());

  CHECK(back == rgb);
  Row cut({{10.9 / 255, 10.1 / 255, 254.99 / 255}});
  wam::pack_row(cut.view(), 2, back.data());
  CHECK(std::vector<std::uint8_t>(back.begin(), back.begin() + 6) ==
        std::vector<std::uint8_t>{10, 10, 254, 10, 10, 254});
}

TEST_CASE("the sum of luma covers widths that no vector divides") {
  for (const std::size_t width : {1U, 15U, 16U, 17U, 320U}) {
    Row row(std::vector<Pixel>(width, Pixel{1, 1, 1}));
    CHECK(wam::luma_sum(row.view()) == Approx(0.9999 * static_cast<double>(width)));
  }
}
