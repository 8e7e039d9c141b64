#include "data/transform/clip_plan.h"

#include <cstdint>
#include <vector>

#include "test/support/catch.h"

using wam::ClipPlan;

namespace {

using Bytes = std::vector<std::uint8_t>;

}  // namespace

TEST_CASE("the mosaic puts each view where its record says, with the wide one doubled") {
  wam::Embodiment embodiment;
  embodiment.canvas_rows = 2;
  embodiment.canvas_cols = 2;
  embodiment.placements = {{2, 0, 0, 1, 2}, {0, 1, 0, 1, 1}};
  embodiment.views = {"left", "right", "wrist"};
  const ClipPlan plan = wam::clip_plan(embodiment, {2, 3, 1.0, 2, 3});
  REQUIRE(plan.height == 4);
  REQUIRE(plan.width == 6);
  REQUIRE_FALSE(plan.covers_all());
  Bytes wide;
  for (std::uint8_t i = 0; i < 2 * 2 * 3 * 3; ++i) wide.push_back(i);
  const Bytes low(2 * 2 * 3 * 3, 99);
  const Bytes unused(2 * 2 * 3 * 3, 55);
  Bytes canvas(static_cast<std::size_t>(2 * plan.height * plan.width * 3), 77);

  wam::transform_clip(plan, {}, {low.data(), unused.data(), wide.data()}, 2, canvas.data());

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

TEST_CASE("a plan resizes the crop of an embodiment to the model's view") {
  wam::Embodiment embodiment;
  embodiment.views = {"a", "b"};
  embodiment.canvas_cols = 2;
  embodiment.placements = {{0, 0, 0, 1, 1}, {1, 0, 1, 1, 1}};

  const ClipPlan plan = wam::clip_plan(embodiment, {180, 320, 0.95, 176, 320});

  CHECK(plan.rows.in == 171);
  CHECK(plan.rows.out == 176);
  CHECK(plan.columns.in == 304);
  CHECK(plan.columns.out == 320);
  CHECK(plan.picture_bytes() == 3 * 180 * 320);
  CHECK(plan.width == 640);
  CHECK(plan.covers_all());
}
