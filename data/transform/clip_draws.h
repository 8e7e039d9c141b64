#pragma once

#include <cstdint>

#include "core/ops/picture/clip.h"
#include "core/random/counter.h"
#include "data/embodiment/embodiment.h"

namespace wam {

// Sizes of one view: as recorded, the crop, as the model gets it.
struct ViewGeometry {
  std::int64_t in_height = 0;
  std::int64_t in_width = 0;
  double crop_scale = 1;
  std::int64_t out_height = 0;
  std::int64_t out_width = 0;

  [[nodiscard]] std::int64_t crop_height() const;  // in * scale, truncated
  [[nodiscard]] std::int64_t crop_width() const;
};

// Training: crop anywhere, jitter in random order. Draws of `stream`: below(0) top, below(1) left,
// below(2..4) the permutation (Fisher-Yates from the back), uniform(10..13) the factors. An
// operation of strength 0 is left out and takes no draw from the others.
ClipDraws draw_clip(const ViewGeometry& geometry,
                    const JitterStrength& strength,
                    const CounterStream& stream);
// Evaluation: the centre crop (half-way offsets to even), no jitter.
ClipDraws centre_clip(const ViewGeometry& geometry);

}  // namespace wam
