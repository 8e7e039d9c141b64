#include "core/ops/picture/resize_axis.h"

#include <cstdint>
#include <vector>

#include "test/support/catch.h"

using wam::resize_axis;
using wam::ResizeAxis;

namespace {

std::vector<float> resized(const std::vector<float>& in, std::int64_t out) {
  const ResizeAxis axis = resize_axis(static_cast<std::int64_t>(in.size()), out);
  std::vector<float> result(static_cast<std::size_t>(out));
  for (std::size_t i = 0; i < result.size(); ++i) {
    for (std::size_t tap = 0; tap < static_cast<std::size_t>(axis.taps); ++tap) {
      result[i] += axis.weight[tap * static_cast<std::size_t>(axis.stride) + i] *
                   in[static_cast<std::size_t>(axis.first[i]) + tap];
    }
  }
  return result;
}

}  // namespace

TEST_CASE("enlarging two pixels to four is plain bilinear with half-pixel centres") {
  // Centres 0.25, 0.75, 1.25, 1.75 of pixels at 0.5 and 1.5; the ends repeat the border.
  CHECK(resized({0, 8}, 4) == std::vector<float>{0, 2, 6, 8});
}

TEST_CASE("halving four pixels weighs a triangle of width two") {
  // Output 0 at 1.0: distances 0.25, 0.25, 0.75 give weights 0.75, 0.75, 0.25 over their sum.
  const auto out = resized({7, 14, 21, 28}, 2);

  CHECK(out[0] == Approx((0.75 * 7 + 0.75 * 14 + 0.25 * 21) / 1.75));
  CHECK(out[1] == Approx((0.25 * 14 + 0.75 * 21 + 0.75 * 28) / 1.75));
}

TEST_CASE("the same size is the identity") {
  CHECK(resized({1, 5, 3}, 3) == std::vector<float>{1, 5, 3});
}

TEST_CASE("taps stay inside the picture and weigh one in sum") {
  for (const auto& [in, out] : {std::pair<std::int64_t, std::int64_t>{304, 320},
                                {171, 160},
                                {243, 256},
                                {1, 5},
                                {480, 37}}) {
    const ResizeAxis axis = resize_axis(in, out);
    for (std::int64_t i = 0; i < out; ++i) {
      const auto first = axis.first[static_cast<std::size_t>(i)];
      REQUIRE(first >= 0);
      REQUIRE(first + axis.taps <= in);
      float sum = 0;
      for (std::int64_t tap = 0; tap < axis.taps; ++tap) {
        sum += axis.weight[static_cast<std::size_t>(tap * axis.stride + i)];
      }
      REQUIRE(sum == Approx(1.0).epsilon(1e-6));
    }
  }
}
