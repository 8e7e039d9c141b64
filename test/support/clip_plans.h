#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/ops/picture/raw_clip.h"
#include "core/random/counter.h"

namespace wam::test {

struct ViewSizes {
  std::int64_t in_height = 0, in_width = 0;
  std::int64_t crop_height = 0, crop_width = 0;
  std::int64_t out_height = 0, out_width = 0;
  std::int64_t repeat_rows = 1, repeat_columns = 1;
};

// One view, with so many black rows and columns of the canvas around it.
inline ClipPlan one_view(const ViewSizes& s, std::int64_t margin = 0) {
  ClipPlan plan;
  plan.num_views = 1;
  plan.in_height = s.in_height;
  plan.in_width = s.in_width;
  plan.rows = resize_axis(s.crop_height, s.out_height);
  plan.columns = resize_axis(s.crop_width, s.out_width);
  plan.places = {{0, margin, margin, s.repeat_rows, s.repeat_columns}};
  plan.height = s.out_height * s.repeat_rows + 2 * margin;
  plan.width = s.out_width * s.repeat_columns + 2 * margin;
  return plan;
}

// Enlarged, reduced a little, much, and to less than a vector; widths that no vector divides.
inline const std::vector<ViewSizes> kViewSizes = {{180, 320, 171, 304, 176, 320, 1, 2},
                                                  {180, 320, 171, 304, 160, 320},
                                                  {256, 256, 243, 243, 256, 256},
                                                  {240, 320, 228, 304, 256, 256},
                                                  {41, 67, 38, 63, 37, 61, 2, 3},
                                                  {50, 200, 50, 200, 13, 31},
                                                  {20, 640, 18, 576, 9, 21, 1, 2},
                                                  {5, 3, 5, 3, 7, 5},
                                                  {3, 1, 3, 1, 2, 17}};

// RGB noise with patches of black, white and one grey, where clamping and ties happen.
inline std::vector<std::uint8_t> noise_and_patches(std::int64_t bytes) {
  const CounterStream stream(11, Purpose::kAugmentation, 0);
  std::vector<std::uint8_t> rgb(static_cast<std::size_t>(bytes));
  for (std::size_t i = 0; i < rgb.size(); ++i) {
    const std::uint64_t patch = stream.below(4, i / 300);
    const auto noise = static_cast<std::uint8_t>(stream.below(256, 1'000'000 + i));
    rgb[i] = patch == 0 ? 0 : patch == 1 ? 255 : patch == 2 ? 128 : noise;
  }
  return rgb;
}

// A crop somewhere and all four steps of the jitter, other ones for every `ordinal`.
inline ClipDraws some_draws(const ClipPlan& plan, std::uint64_t ordinal) {
  const CounterStream stream(7, Purpose::kAugmentation, ordinal);
  const auto offset = [&](std::int64_t room, std::uint64_t draw) {
    return static_cast<std::int64_t>(stream.below(static_cast<std::uint64_t>(room) + 1, draw));
  };
  ClipDraws draws;
  draws.top = offset(plan.in_height - plan.rows.in, 0);
  draws.left = offset(plan.in_width - plan.columns.in, 1);
  const std::uint64_t first = stream.below(4, 2);
  for (std::uint64_t i = 0; i < 4; ++i) {
    const auto op = static_cast<JitterOp>((first + i) % 4);
    const float u = stream.uniform(10 + i);
    draws.add(op, op == JitterOp::kHue ? 0.16F * u - 0.08F : 0.6F + 0.8F * u);
  }
  return draws;
}

// A clip whose image is `image_THWC`: one view, as it is.
inline RawClip still_clip(const at::Tensor& image_THWC) {
  const std::int64_t height = image_THWC.size(1);
  const std::int64_t width = image_THWC.size(2);
  RawClip clip;
  clip.view_THWC = {image_THWC.contiguous()};
  clip.plan =
      std::make_shared<const ClipPlan>(one_view({height, width, height, width, height, width}));
  clip.room = clip.bytes();
  return clip;
}

}  // namespace wam::test
