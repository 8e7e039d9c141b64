#include "core/ops/square_sum/square_sum.h"

#include <cmath>
#include <limits>

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include "core/base/errors.h"
#include "test/support/catch.h"

using wam::make_segment_table;
using wam::square_sums;

TEST_CASE("square sums: one a segment, empty ones too") {
  const at::Tensor flat = at::zeros({192}, at::kFloat);
  flat[0].fill_(3);
  flat[2].fill_(-4);
  flat[64].fill_(1e30);  // its square is no float32
  flat[128].fill_(std::numeric_limits<float>::infinity());
  const auto table = make_segment_table({{0, 3}, {64, 0}, {64, 64}, {128, 1}}, at::kCPU);
  const at::Tensor sums = at::empty({4}, at::kDouble);

  square_sums(sums, flat, table);

  CHECK(sums[0].item<double>() == 25);
  CHECK(sums[1].item<double>() == 0);
  CHECK(sums[2].item<double>() == Approx(1e60));
  CHECK(std::isinf(sums[3].item<double>()));
}

TEST_CASE("square sums: segments that overlap or lie between boundaries are refused") {
  CHECK_THROWS_AS(make_segment_table({{0, 65}, {64, 1}}, at::kCPU), wam::InvariantError);
  CHECK_THROWS_AS(make_segment_table({{32, 1}}, at::kCPU), wam::InvariantError);
  CHECK_THROWS_AS(square_sums(at::empty({1}, at::kDouble), at::zeros({64}, at::kFloat),
                              make_segment_table({{0, 65}}, at::kCPU)),
                  wam::InvariantError);
}
