#pragma once

#include <cstdint>
#include <vector>

#include "core/base/instruction_set.h"
#include "core/ops/picture/picture_job.h"
#include "core/ops/picture/resize_axis.h"

namespace wam {

// How the views of a clip become one canvas a frame: every view is cropped, resized and jittered
// alike, and goes to its places. The same for all clips of a dataset.
struct ClipPlan {
  // Where a view goes, top left pixel; every pixel of it is repeated. Places do not overlap.
  struct Place {
    std::int64_t view = 0;
    std::int64_t top = 0;
    std::int64_t left = 0;
    std::int64_t repeat_rows = 1;
    std::int64_t repeat_columns = 1;
  };

  std::int64_t num_views = 0;
  std::int64_t in_height = 0;  // of a picture as recorded
  std::int64_t in_width = 0;
  ResizeAxis rows;  // from the crop to the size of a view
  ResizeAxis columns;
  std::vector<Place> places;
  std::int64_t height = 0;  // of the canvas
  std::int64_t width = 0;

  [[nodiscard]] std::int64_t picture_bytes() const { return 3 * in_height * in_width; }
  // No part of the canvas stays black.
  [[nodiscard]] bool covers_all() const;
};

// What is drawn for one clip, the same for all of its pictures.
struct ClipDraws {
  std::int64_t top = 0;  // of the crop
  std::int64_t left = 0;
  JitterStep step[kMaxJitterSteps];  // first to last
  std::int64_t steps = 0;

  // Appends a step. `factor` is not below 0, in turns for a hue.
  void add(JitterOp op, float factor);
};

// The job of the first picture at a place: `view` is the view's first picture, `canvas` the first
// canvas. Scratch is for the caller to add.
PictureJob job_of(const ClipPlan& plan,
                  const ClipDraws& draws,
                  const ClipPlan::Place& place,
                  const std::uint8_t* view,
                  std::uint8_t* canvas);

// Writes `frames` canvases (frames, height, width, 3), black where no view goes. `views`: for each
// view its pictures (frames, in_height, in_width, 3). transform_picture says what is computed.
// Threads: any.
void transform_clip(const ClipPlan& plan,
                    const ClipDraws& draws,
                    const std::vector<const std::uint8_t*>& views,
                    std::int64_t frames,
                    std::uint8_t* canvas,
                    InstructionSet set = best_instruction_set());

}  // namespace wam
