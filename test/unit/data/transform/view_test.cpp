#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

#include "data/transform/mosaic.h"
#include "data/transform/view_transform.h"
#include "test/support/catch.h"

using wam::JitterOp;
using wam::ViewDraws;
using wam::ViewGeometry;
using wam::ViewTransform;

namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes run(const ViewGeometry& geometry, const Bytes& rgb, const ViewDraws& draws) {
  const ViewTransform transform(geometry);
  ViewTransform::Scratch scratch;
  Bytes out(static_cast<std::size_t>(3 * geometry.out_height * geometry.out_width));
  transform.apply(rgb.data(), draws, {out.data(), 3 * geometry.out_width, 1, 1}, scratch);
  return out;
}

// Red = row, green = column, blue = 7.
Bytes coordinates(std::int64_t height, std::int64_t width) {
  Bytes rgb;
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      rgb.insert(rgb.end(), {static_cast<std::uint8_t>(y), static_cast<std::uint8_t>(x), 7});
    }
  }
  return rgb;
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
    CHECK(wam::centre_view({in, in, 0.95, in, in}).crop_top == offset);
  }
}

TEST_CASE("a crop of the output's size takes exactly its pixels") {
  const ViewGeometry geometry{20, 40, 0.5, 10, 20};
  ViewDraws draws;
  draws.crop_top = 3;
  draws.crop_left = 11;

  const Bytes out = run(geometry, coordinates(20, 40), draws);

  for (std::int64_t y = 0; y < 10; ++y) {
    for (std::int64_t x = 0; x < 20; ++x) {
      const auto at = static_cast<std::size_t>(3 * (20 * y + x));
      REQUIRE(out[at] == 3 + y);
      REQUIRE(out[at + 1] == 11 + x);
      REQUIRE(out[at + 2] == 7);
    }
  }
}

TEST_CASE("flat pictures stay flat at the sizes that only enlarge") {
  for (int level = 0; level < 256; ++level) {
    const ViewGeometry geometry{180, 320, 0.95, 176, 320};
    const Bytes rgb(3 * 180 * 320, static_cast<std::uint8_t>(level));
    const Bytes out = run(geometry, rgb, wam::centre_view(geometry));
    REQUIRE(std::all_of(out.begin(), out.end(), [&](auto v) { return v == level; }));
    level += 16;
  }
}

TEST_CASE("jitter is applied in the drawn order, with the mean of the picture as it then is") {
  const ViewGeometry geometry{2, 2, 1.0, 2, 2};
  const Bytes rgb = {100, 100, 100, 200, 200, 200, 100, 100, 100, 200, 200, 200};
  ViewDraws draws;
  draws.factor = {1.25F, 0.5F, 1, 0};

  draws.order = {JitterOp::kBrightness, JitterOp::kContrast};
  const Bytes bright_first = run(geometry, rgb, draws);
  draws.order = {JitterOp::kContrast, JitterOp::kBrightness};
  const Bytes contrast_first = run(geometry, rgb, draws);

  // 125 and 250, mean 187.5 * 0.9999: halves towards it.
  CHECK(bright_first[0] == static_cast<int>(0.5 * 125 + 0.5 * 187.5 * 0.9999));
  CHECK(bright_first[3] == static_cast<int>(0.5 * 250 + 0.5 * 187.5 * 0.9999));
  CHECK(contrast_first[0] == static_cast<int>(1.25 * (0.5 * 100 + 0.5 * 150 * 0.9999)));
  CHECK(contrast_first[3] == static_cast<int>(1.25 * (0.5 * 200 + 0.5 * 150 * 0.9999)));
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
    const ViewDraws draws = wam::draw_view(geometry, strength, stream);
    tops.insert(draws.crop_top);
    lefts.insert(draws.crop_left);
    orders.insert(draws.order);
    low = std::min(low, draws.factor[1]);
    high = std::max(high, draws.factor[1]);
    REQUIRE(std::abs(draws.factor[3]) <= 0.08F);
    REQUIRE(draws.order.size() == 4);
  }
  CHECK(tops.size() == 10);
  CHECK(lefts.size() == 17);
  CHECK(orders.size() == 24);
  CHECK(low == Approx(0.6).margin(0.005));
  CHECK(high == Approx(1.4).margin(0.005));

  const wam::CounterStream stream(5, wam::Purpose::kAugmentation, 1);
  const ViewDraws all = wam::draw_view(geometry, strength, stream);
  const ViewDraws some = wam::draw_view(geometry, {0.3, 0, 0.5, 0}, stream);
  CHECK(some.order.size() == 2);
  CHECK(some.factor[2] == all.factor[2]);
  CHECK(some.crop_left == all.crop_left);
}

TEST_CASE("the mosaic puts each view where its record says, with the wide one doubled") {
  wam::Embodiment embodiment;
  embodiment.canvas_rows = 2;
  embodiment.canvas_cols = 2;
  embodiment.placements = {{2, 0, 0, 1, 2}, {0, 1, 0, 1, 1}};
  const wam::Mosaic mosaic(embodiment, 2, 3);
  const ViewTransform transform({2, 3, 1.0, 2, 3});
  ViewTransform::Scratch scratch;
  Bytes canvas(static_cast<std::size_t>(2 * mosaic.height() * mosaic.width() * 3));
  REQUIRE(mosaic.height() == 4);
  REQUIRE(mosaic.width() == 6);
  Bytes wide;
  for (std::uint8_t i = 0; i < 2 * 2 * 3 * 3; ++i) wide.push_back(i);
  const Bytes low(2 * 2 * 3 * 3, 99);

  mosaic.place(2, wide.data(), 2, transform, {}, canvas.data(), scratch);
  mosaic.place(0, low.data(), 2, transform, {}, canvas.data(), scratch);

  for (std::int64_t t = 0; t < 2; ++t) {
    for (std::int64_t y = 0; y < 4; ++y) {
      for (std::int64_t x = 0; x < 6; ++x) {
        const int value = canvas[static_cast<std::size_t>(3 * (6 * (4 * t + y) + x))];
        INFO(t << " " << y << " " << x);
        if (y < 2) {
          CHECK(value == 18 * t + 9 * y + 3 * (x / 2));
        } else {
          CHECK(value == (x < 3 ? 99 : 0));
        }
      }
    }
  }
}
