#include "core/base/instruction_set.h"

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <numeric>
#include <vector>

#include "core/random/counter.h"
#include "data/transform/view_transform.h"
#include "test/support/catch.h"

using wam::InstructionSet;
using wam::JitterOp;
using wam::ViewDraws;
using wam::ViewGeometry;
using wam::ViewTransform;

namespace {

using Bytes = std::vector<std::uint8_t>;

// Noise with patches of black, white and one grey, where clamping and ties happen.
Bytes some_picture(const ViewGeometry& geometry) {
  const wam::CounterStream stream(11, wam::Purpose::kAugmentation, 0);
  Bytes rgb(static_cast<std::size_t>(3 * geometry.in_height * geometry.in_width));
  for (std::size_t i = 0; i < rgb.size(); ++i) {
    const std::uint64_t patch = stream.below(4, i / 300);
    const auto noise = static_cast<std::uint8_t>(stream.below(256, 1'000'000 + i));
    rgb[i] = patch == 0 ? 0 : patch == 1 ? 255 : patch == 2 ? 128 : noise;
  }
  return rgb;
}

struct Run {
  ViewGeometry geometry;
  ViewDraws draws;
  std::int64_t repeat_rows = 1;
  std::int64_t repeat_cols = 1;
};

// With a margin on every row, that nothing may touch.
Bytes run(const Run& run, const Bytes& rgb, InstructionSet set) {
  const ViewTransform transform(run.geometry, set);
  ViewTransform::Scratch scratch;
  const std::int64_t row = 3 * run.geometry.out_width * run.repeat_cols + 64;
  Bytes out(static_cast<std::size_t>(row * run.geometry.out_height * run.repeat_rows), 77);
  transform.apply(rgb.data(), run.draws, {out.data(), row, run.repeat_rows, run.repeat_cols},
                  scratch);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto column = static_cast<std::int64_t>(i) % row;
    if (column >= row - 64) REQUIRE(out[i] == 77);
  }
  return out;
}

void check_equal_to_scalar(const Run& one, InstructionSet set) {
  const Bytes rgb = some_picture(one.geometry);
  INFO(one.geometry.in_height << "x" << one.geometry.in_width << " to " << one.geometry.out_height
                              << "x" << one.geometry.out_width << ", repeated " << one.repeat_rows
                              << "x" << one.repeat_cols);
  CHECK(run(one, rgb, set) == run(one, rgb, InstructionSet::kScalar));
}

ViewDraws draws_of(const ViewGeometry& geometry, std::uint64_t ordinal) {
  return wam::draw_view(geometry, {0.3, 0.4, 0.5, 0.08},
                        wam::CounterStream(7, wam::Purpose::kAugmentation, ordinal));
}

// Enlarged, reduced a little, much, and to less than a vector; widths that no vector divides.
const std::vector<ViewGeometry> kGeometries = {
    {180, 320, 0.95, 176, 320}, {180, 320, 0.95, 160, 320}, {256, 256, 0.95, 256, 256},
    {240, 320, 0.95, 256, 256}, {41, 67, 0.95, 37, 61},     {50, 200, 1.0, 13, 31},
    {20, 640, 0.9, 9, 21},      {5, 3, 1.0, 7, 5},          {3, 1, 1.0, 2, 17}};

void check_set(InstructionSet set) {
  std::uint64_t ordinal = 0;
  for (const auto& geometry : kGeometries) {
    check_equal_to_scalar({geometry, wam::centre_view(geometry)}, set);
    for (int k = 0; k < 3; ++k) {
      check_equal_to_scalar({geometry, draws_of(geometry, ordinal++), 1 + k, 1 + k}, set);
    }
  }
  const ViewGeometry small{40, 53, 0.95, 40, 50};
  ViewDraws draws = draws_of(small, 99);
  std::sort(draws.order.begin(), draws.order.end());
  do {
    check_equal_to_scalar({small, draws}, set);
  } while (std::next_permutation(draws.order.begin(), draws.order.end()));
  for (const JitterOp only : draws.order) {
    ViewDraws one = draws;
    one.order = {only};
    check_equal_to_scalar({small, one}, set);
  }
}

}  // namespace

TEST_CASE("transformed pictures: AVX2 gives the scalar code's bytes, and no others") {
  if (!wam::has_instruction_set(InstructionSet::kAvx2)) {
    std::cout << "SKIPPED: this processor has no AVX2\n";
    return;
  }
  check_set(InstructionSet::kAvx2);
}

TEST_CASE("transformed pictures: AVX-512 gives the scalar code's bytes, and no others") {
  if (!wam::has_instruction_set(InstructionSet::kAvx512)) {
    std::cout << "SKIPPED: this processor has no AVX-512\n";
    return;
  }
  check_set(InstructionSet::kAvx512);
}
