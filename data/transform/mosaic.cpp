#include "data/transform/mosaic.h"

namespace wam {

Mosaic::Mosaic(const Embodiment& embodiment, std::int64_t view_height, std::int64_t view_width)
    : placements_(embodiment.placements),
      view_height_(view_height),
      view_width_(view_width),
      height_(embodiment.canvas_rows * view_height),
      width_(embodiment.canvas_cols * view_width) {}

bool Mosaic::covers_all() const {
  std::int64_t covered = 0;  // places do not overlap
  for (const Placement& at : placements_) covered += at.row_span * at.col_span;
  return covered * view_height_ * view_width_ == height_ * width_;
}

void Mosaic::place(std::int64_t view,
                   const std::uint8_t* rgb,
                   std::int64_t frames,
                   const ViewTransform& transform,
                   const ViewDraws& draws,
                   std::uint8_t* canvas,
                   ViewTransform::Scratch& scratch) const {
  const std::int64_t picture = 3 * transform.geometry().in_height * transform.geometry().in_width;
  for (const Placement& at : placements_) {
    if (at.view != view) continue;
    std::uint8_t* corner = canvas + 3 * (at.row * view_height_ * width_ + at.col * view_width_);
    for (std::int64_t t = 0; t < frames; ++t) {
      const ViewTransform::Target target{corner + t * 3 * height_ * width_, 3 * width_, at.row_span,
                                         at.col_span};
      transform.apply(rgb + t * picture, draws, target, scratch);
    }
  }
}

}  // namespace wam
