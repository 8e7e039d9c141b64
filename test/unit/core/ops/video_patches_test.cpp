#include "core/ops/video_patches/video_patches.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/conv3d.h>
#include <ATen/ops/sin.h>

#include "test/support/catch.h"

namespace wam {
namespace {

at::Tensor numbers(const std::vector<std::int64_t>& shape, double pace) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return at::sin(at::arange(count, at::kDouble) * pace).reshape(shape);
}

}  // namespace

TEST_CASE("Video patches: times the weight they are the causal convolution with its bias") {
  const at::Tensor video = numbers({2, 3, 5, 4, 6}, 1.3);
  const at::Tensor weight = numbers({7, 3, 3, 3, 3}, 0.7);
  const at::Tensor bias = numbers({7}, 2.1);
  const at::Tensor expected = at::conv3d(at::constant_pad_nd(video, {0, 0, 0, 0, 2, 0}), weight,
                                         bias, {1, 1, 1}, {0, 1, 1});

  for (const std::int64_t first : {0, 1, 2, 4}) {
    const VideoPatches options{.pixel = 1, .first_frame = first};
    const at::Tensor rows = video_patches(video, options);
    REQUIRE(rows.sizes() == at::IntArrayRef({2 * (5 - first) * 4 * 6, 88}));

    const at::Tensor out = rows.mm(video_patches_weight(weight, bias, options).t())
                               .view({2, 5 - first, 4, 6, 7})
                               .permute({0, 4, 1, 2, 3});

    CHECK((out - expected.slice(2, first)).abs().max().item<double>() < 1e-13);
  }
}

TEST_CASE("Video patches: of squares of pixels the column parity is the slower channel") {
  const at::Tensor video = numbers({1, 3, 2, 4, 6}, 1.3);

  const at::Tensor rows = video_patches(video, {.pixel = 2, .first_frame = 1});

  REQUIRE(rows.sizes() == at::IntArrayRef({2 * 3, 328}));
  // Position (1, 2) of frame 1; its own tap is that of frame 2, row 1, column 1 of 3 x 3 x 3.
  const at::Tensor row = rows[5].slice(0, 12 * (2 * 9 + 3 + 1));
  for (std::int64_t color = 0; color < 3; ++color) {
    for (std::int64_t r = 0; r < 2; ++r) {
      for (std::int64_t q = 0; q < 2; ++q) {
        CHECK(row[color * 4 + r * 2 + q].item<double>() ==
              video[0][color][1][2 + q][4 + r].item<double>());
      }
    }
  }
  // Below it and right of it the picture ends; then the bias's one and padding.
  CHECK(rows[5].slice(0, 12 * (2 * 9 + 3 + 2), 324).abs().max().item<double>() == 0.0);
  CHECK(rows[5][324].item<double>() == 1.0);
  CHECK(rows[5].slice(0, 325).abs().max().item<double>() == 0.0);
}

}  // namespace wam
