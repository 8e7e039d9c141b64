#include "core/ops/picture/clip.h"

#include <algorithm>
#include <memory>

#include "core/base/errors.h"
#include "core/ops/picture/picture.h"

namespace wam {
namespace {

PictureAxis axis_of(const ResizeAxis& axis) {
  return {axis.in, axis.out, axis.taps, axis.stride, axis.first.data(), axis.weight.data()};
}

// Floats that start at a cache line.
class Scratch {
 public:
  explicit Scratch(std::int64_t size)
      : floats_(static_cast<std::size_t>(size) + kLine / sizeof(float)) {}
  [[nodiscard]] float* start() {
    void* start = floats_.data();
    std::size_t bytes = floats_.size() * sizeof(float);
    return static_cast<float*>(std::align(kLine, 1, start, bytes));
  }

 private:
  static constexpr std::size_t kLine = 64;
  std::vector<float> floats_;
};

void check(const ClipPlan& plan, const ClipDraws& draws, std::size_t views) {
  invariant(draws.top >= 0 && draws.top + plan.rows.in <= plan.in_height && draws.left >= 0 &&
                draws.left + plan.columns.in <= plan.in_width,
            "a crop outside the picture");
  invariant(static_cast<std::int64_t>(views) == plan.num_views, "as many views as places need");
}

}  // namespace

bool ClipPlan::covers_all() const {
  std::int64_t covered = 0;
  for (const Place& place : places) {
    covered += place.repeat_rows * place.repeat_columns * rows.out * columns.out;
  }
  return covered == height * width;
}

void ClipDraws::add(JitterOp op, float factor) {
  invariant(steps < kMaxJitterSteps, "a jitter that has each operation once at most");
  step[steps++] = {op, factor, static_cast<float>(1.0 - static_cast<double>(factor))};
}

PictureJob job_of(const ClipPlan& plan,
                  const ClipDraws& draws,
                  const ClipPlan::Place& place,
                  const std::uint8_t* view,
                  std::uint8_t* canvas) {
  PictureJob job;
  job.rows = axis_of(plan.rows);
  job.columns = axis_of(plan.columns);
  std::copy_n(draws.step, draws.steps, job.step);
  job.steps = draws.steps;
  job.from = view + 3 * (draws.top * plan.in_width + draws.left);
  job.from_stride = 3 * plan.in_width;
  job.to = canvas + 3 * (place.top * plan.width + place.left);
  job.to_stride = 3 * plan.width;
  job.repeat_rows = place.repeat_rows;
  job.repeat_columns = place.repeat_columns;
  return job;
}

void transform_clip(const ClipPlan& plan,
                    const ClipDraws& draws,
                    const std::vector<const std::uint8_t*>& views,
                    std::int64_t frames,
                    std::uint8_t* canvas,
                    InstructionSet set) {
  check(plan, draws, views.size());
  const std::int64_t canvas_bytes = 3 * plan.height * plan.width;
  if (!plan.covers_all()) std::fill_n(canvas, frames * canvas_bytes, std::uint8_t{0});
  std::unique_ptr<Scratch> scratch;
  for (const ClipPlan::Place& place : plan.places) {
    PictureJob job =
        job_of(plan, draws, place, views[static_cast<std::size_t>(place.view)], canvas);
    if (!scratch) {
      scratch = std::make_unique<Scratch>(picture_scratch(job.rows, job.columns).size);
    }
    job.scratch = scratch->start();
    for (std::int64_t t = 0; t < frames; ++t) {
      transform_picture(job, set);
      job.from += plan.picture_bytes();
      job.to += canvas_bytes;
    }
  }
}

}  // namespace wam
