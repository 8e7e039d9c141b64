#include "core/ops/picture/clip.h"

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <vector>

#include "core/random/counter.h"
#include "test/support/catch.h"
#include "test/support/clip_plans.h"

namespace wam {
namespace {

using test::one_view;
using Bytes = std::vector<std::uint8_t>;

Bytes run(const ClipPlan& plan,
          const Bytes& rgb,
          const ClipDraws& draws,
          InstructionSet set = best_instruction_set()) {
  Bytes out(static_cast<std::size_t>(3 * plan.height * plan.width), 77);
  transform_clip(plan, draws, {rgb.data()}, 1, out.data(), set);
  return out;
}

ClipDraws draws_of(const std::vector<std::pair<JitterOp, float>>& steps,
                   std::int64_t top = 0,
                   std::int64_t left = 0) {
  ClipDraws draws;
  draws.top = top;
  draws.left = left;
  for (const auto& [op, factor] : steps) draws.add(op, factor);
  return draws;
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

void check_equal_to_scalar(const ClipPlan& plan, const ClipDraws& draws, InstructionSet set) {
  const Bytes rgb = test::noise_and_patches(plan.picture_bytes());
  INFO(plan.in_height << "x" << plan.in_width << " to " << plan.rows.out << "x" << plan.columns.out
                      << ", " << draws.steps << " steps");
  CHECK(run(plan, rgb, draws, set) == run(plan, rgb, draws, InstructionSet::kScalar));
}

void check_set(InstructionSet set) {
  std::uint64_t ordinal = 0;
  for (const auto& sizes : test::kViewSizes) {
    const ClipPlan plan = one_view(sizes, 3);
    check_equal_to_scalar(plan, draws_of({}), set);
    for (int k = 0; k < 4; ++k) {
      check_equal_to_scalar(plan, test::some_draws(plan, ordinal++), set);
    }
  }
  const ClipPlan small = one_view({40, 53, 38, 50, 40, 50});
  std::vector<std::pair<JitterOp, float>> steps = {{JitterOp::kBrightness, 1.2F},
                                                   {JitterOp::kContrast, 0.7F},
                                                   {JitterOp::kSaturation, 1.4F},
                                                   {JitterOp::kHue, -0.07F}};
  for (const auto& step : steps) check_equal_to_scalar(small, draws_of({step}, 2, 1), set);
  do {
    check_equal_to_scalar(small, draws_of(steps, 1, 3), set);
  } while (std::next_permutation(steps.begin(), steps.end()));
}

}  // namespace

TEST_CASE("transformed pictures: AVX2 gives the scalar code's bytes") {
  if (!has_instruction_set(InstructionSet::kAvx2)) {
    std::cout << "SKIPPED: this processor has no AVX2\n";
    return;
  }
  check_set(InstructionSet::kAvx2);
}

TEST_CASE("transformed pictures: AVX-512 gives the scalar code's bytes") {
  if (!has_instruction_set(InstructionSet::kAvx512)) {
    std::cout << "SKIPPED: this processor has no AVX-512\n";
    return;
  }
  check_set(InstructionSet::kAvx512);
}

TEST_CASE("a picture touches its place on the canvas alone, and the rest is black") {
  for (const auto& sizes : test::kViewSizes) {
    constexpr std::int64_t kMargin = 5;
    const ClipPlan plan = one_view(sizes, kMargin);
    const Bytes white(static_cast<std::size_t>(plan.picture_bytes()), 255);

    const Bytes out = run(plan, white, draws_of({}));

    for (std::int64_t y = 0; y < plan.height; ++y) {
      for (std::int64_t x = 0; x < plan.width; ++x) {
        const bool inside =
            y >= kMargin && y < plan.height - kMargin && x >= kMargin && x < plan.width - kMargin;
        const int level = out[static_cast<std::size_t>(3 * (y * plan.width + x) + 2)];
        if (inside) {
          REQUIRE(level >= 254);  // reduced areas may lose a level
        } else {
          REQUIRE(level == 0);
        }
      }
    }
  }
}

TEST_CASE("a crop of the output's size takes exactly its pixels") {
  const ClipPlan plan = one_view({20, 40, 10, 20, 10, 20});

  const Bytes out = run(plan, coordinates(20, 40), draws_of({}, 3, 11));

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
  const ClipPlan plan = one_view({180, 320, 171, 304, 176, 320});
  for (int level = 0; level < 256; level += 5) {
    const Bytes rgb(3 * 180 * 320, static_cast<std::uint8_t>(level));
    const Bytes out = run(plan, rgb, draws_of({}));
    REQUIRE(std::all_of(out.begin(), out.end(), [&](auto v) { return v == level; }));
  }
}

TEST_CASE("jitter is applied in the drawn order, with the mean of the picture as it then is") {
  const ClipPlan plan = one_view({2, 2, 2, 2, 2, 2});
  const Bytes rgb = {100, 100, 100, 200, 200, 200, 100, 100, 100, 200, 200, 200};
  const std::pair<JitterOp, float> bright{JitterOp::kBrightness, 1.25F};
  const std::pair<JitterOp, float> contrast{JitterOp::kContrast, 0.5F};

  const Bytes bright_first = run(plan, rgb, draws_of({bright, contrast}));
  const Bytes contrast_first = run(plan, rgb, draws_of({contrast, bright}));

  // 125 and 250, mean 187.5 * 0.9999: halves towards it.
  CHECK(bright_first[0] == static_cast<int>(0.5 * 125 + 0.5 * 187.5 * 0.9999));
  CHECK(bright_first[3] == static_cast<int>(0.5 * 250 + 0.5 * 187.5 * 0.9999));
  CHECK(contrast_first[0] == static_cast<int>(1.25 * (0.5 * 100 + 0.5 * 150 * 0.9999)));
  CHECK(contrast_first[3] == static_cast<int>(1.25 * (0.5 * 200 + 0.5 * 150 * 0.9999)));
}

TEST_CASE("a whole transform follows the formulas, in double and pixel by pixel") {
  const ClipPlan plan = one_view({12, 9, 10, 7, 13, 6});
  const Bytes rgb = test::noise_and_patches(plan.picture_bytes());
  const auto levels = [&](std::int64_t y, std::int64_t x, std::size_t c) {
    double sum = 0;
    for (std::int64_t i = 0; i < plan.rows.taps; ++i) {
      for (std::int64_t k = 0; k < plan.columns.taps; ++k) {
        const std::int64_t row = 1 + plan.rows.first[static_cast<std::size_t>(y)] + i;
        const std::int64_t column = 2 + plan.columns.first[static_cast<std::size_t>(x)] + k;
        const double weight =
            plan.rows.weight[static_cast<std::size_t>(i * plan.rows.stride + y)] *
            plan.columns.weight[static_cast<std::size_t>(k * plan.columns.stride + x)];
        sum += weight * rgb[static_cast<std::size_t>(3 * (row * 9 + column)) + c];
      }
    }
    return sum;
  };

  const Bytes out = run(plan, rgb, draws_of({{JitterOp::kBrightness, 0.8F}}, 1, 2));

  for (std::int64_t y = 0; y < 13; ++y) {
    for (std::int64_t x = 0; x < 6; ++x) {
      for (std::size_t c = 0; c < 3; ++c) {
        const double expected = 0.8 * levels(y, x, c);
        const double found = out[static_cast<std::size_t>(3 * (6 * y + x)) + c];
        REQUIRE(found <= expected + 1e-3);
        REQUIRE(found > expected - 1 - 1e-3);
      }
    }
  }
}

TEST_CASE("a clip's frames are transformed alike, one after the other") {
  const ClipPlan plan = one_view({12, 9, 10, 7, 13, 6}, 1);
  const Bytes rgb = test::noise_and_patches(3 * plan.picture_bytes());
  const ClipDraws draws = test::some_draws(plan, 5);
  Bytes clip(static_cast<std::size_t>(3 * 3 * plan.height * plan.width), 77);

  transform_clip(plan, draws, {rgb.data()}, 3, clip.data());

  for (std::ptrdiff_t t = 0; t < 3; ++t) {
    const auto from = rgb.begin() + t * plan.picture_bytes();
    const Bytes alone = run(plan, {from, from + plan.picture_bytes()}, draws);
    CHECK(std::equal(alone.begin(), alone.end(),
                     clip.begin() + t * static_cast<std::ptrdiff_t>(alone.size())));
  }
}

}  // namespace wam
