#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/base/instruction_set.h"
#include "core/ops/picture/picture_job.h"
#include "core/random/counter.h"
#include "data/embodiment/embodiment.h"
#include "data/transform/resize.h"

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

// The random part of the transform, one for all frames and views of a sample.
struct ViewDraws {
  std::int64_t crop_top = 0;
  std::int64_t crop_left = 0;
  std::vector<JitterOp> order;                 // what to apply, first to last; empty in evaluation
  std::array<float, 4> factor = {1, 1, 1, 0};  // by JitterOp
};

// Training: crop anywhere, jitter in random order. Draws of `stream`: below(0) top, below(1) left,
// below(2..4) the permutation (Fisher-Yates from the back), uniform(10..13) the factors. An
// operation of strength 0 is left out and takes no draw from the others.
ViewDraws draw_view(const ViewGeometry& geometry,
                    const JitterStrength& strength,
                    const CounterStream& stream);
// Evaluation: the centre crop (half-way offsets to even), no jitter.
ViewDraws centre_view(const ViewGeometry& geometry);

// Crop, antialiased bilinear resize, colour jitter, truncation to uint8, picture by picture. The
// filter's weights are computed once: the crop's size is the same for all samples.
//
// Source: DreamZero @ ab790c1, video transforms (torchvision v2 RandomCrop, Resize with antialias,
//         ColorJitter on float pictures); core/ops/picture/picture.h says what is computed.
// Threads: `apply` may run in several threads, with a Scratch each.
class ViewTransform {
 public:
  using Scratch = std::vector<float>;

  // Bytes are the same on every `set`.
  explicit ViewTransform(const ViewGeometry& geometry, InstructionSet set = best_instruction_set());

  // A picture goes to `rgb`, whose rows are `row_bytes` apart; each pixel is repeated.
  struct Target {
    std::uint8_t* rgb = nullptr;
    std::int64_t row_bytes = 0;
    std::int64_t repeat_rows = 1;
    std::int64_t repeat_cols = 1;
  };
  // `rgb`: (in_height, in_width, 3), contiguous.
  void apply(const std::uint8_t* rgb,
             const ViewDraws& draws,
             const Target& target,
             Scratch& scratch) const;

  [[nodiscard]] const ViewGeometry& geometry() const noexcept { return geometry_; }

 private:
  ViewGeometry geometry_;
  ResizeAxis rows_;
  ResizeAxis cols_;
  InstructionSet set_;
};

}  // namespace wam
