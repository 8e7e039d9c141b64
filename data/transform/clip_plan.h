#pragma once

#include "core/ops/picture/clip.h"
#include "data/embodiment/embodiment.h"
#include "data/transform/clip_draws.h"

namespace wam {

// All views of a clip on one canvas per frame, black where no view goes. Every view has the
// geometry's sizes. The filter's weights are computed here, once: the crop's size is the same for
// all samples.
//
// Source: DreamZero @ ab790c1, its video transforms (torchvision v2 Resize with antialias) and
//         multi-view layouts (a view that spans several cells has its pixels repeated).
ClipPlan clip_plan(const Embodiment& embodiment, const ViewGeometry& geometry);

}  // namespace wam
