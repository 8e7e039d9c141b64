#pragma once

#include <cstdint>
#include <vector>

#include "data/embodiment/embodiment.h"
#include "data/transform/view_transform.h"

namespace wam {

// All views of a clip on one canvas per frame, black where no view goes.
//
// Source: DreamZero @ ab790c1, its multi-view layouts (a view that spans several cells has its
//         pixels repeated).
class Mosaic {
 public:
  // Every view has the size (view_height, view_width) after the transform.
  Mosaic(const Embodiment& embodiment, std::int64_t view_height, std::int64_t view_width);

  [[nodiscard]] std::int64_t height() const noexcept { return height_; }
  [[nodiscard]] std::int64_t width() const noexcept { return width_; }
  // No part of the canvas stays black.
  [[nodiscard]] bool covers_all() const;

  // Transforms `frames` pictures of one view into its places on `canvas` (frames, height, width,
  // 3), which must be zero elsewhere. `rgb`: (frames, in_height, in_width, 3).
  void place(std::int64_t view,
             const std::uint8_t* rgb,
             std::int64_t frames,
             const ViewTransform& transform,
             const ViewDraws& draws,
             std::uint8_t* canvas,
             ViewTransform::Scratch& scratch) const;

 private:
  std::vector<Placement> placements_;
  std::int64_t view_height_;
  std::int64_t view_width_;
  std::int64_t height_;
  std::int64_t width_;
};

}  // namespace wam
