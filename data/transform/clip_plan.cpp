#include "data/transform/clip_plan.h"

namespace wam {

ClipPlan clip_plan(const Embodiment& embodiment, const ViewGeometry& geometry) {
  ClipPlan plan;
  plan.num_views = static_cast<std::int64_t>(embodiment.views.size());
  plan.in_height = geometry.in_height;
  plan.in_width = geometry.in_width;
  plan.rows = resize_axis(geometry.crop_height(), geometry.out_height);
  plan.columns = resize_axis(geometry.crop_width(), geometry.out_width);
  for (const Placement& at : embodiment.placements) {
    plan.places.push_back({at.view, at.row * geometry.out_height, at.col * geometry.out_width,
                           at.row_span, at.col_span});
  }
  plan.height = embodiment.canvas_rows * geometry.out_height;
  plan.width = embodiment.canvas_cols * geometry.out_width;
  return plan;
}

}  // namespace wam
