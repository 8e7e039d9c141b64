#include "data/check/sheet.h"

#include <algorithm>
#include <ctime>
#include <memory>

#include "core/base/errors.h"
#include "core/ops/picture/raw_clip.h"
#include "core/random/counter.h"
#include "data/transform/clip_plan.h"

namespace wam {
namespace {

// Of this thread, so that others at work do not count.
double core_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// The first sample of a process sets up tables of the decoder; 0 for none.
double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

class SheetMaker {
 public:
  SheetMaker(const LeRobotReader& reader,
             const Embodiment& embodiment,
             const Binding& binding,
             const WindowRule& rule,
             const SheetOptions& options)
      : reader_(reader),
        embodiment_(embodiment),
        binding_(binding),
        rule_(rule),
        options_(options),
        geometry_{binding.picture.height, binding.picture.width, embodiment.crop_scale,
                  options.view_height, options.view_width},
        plan_(std::make_shared<const ClipPlan>(clip_plan(embodiment, geometry_))) {}

  Sheet run(const std::vector<SheetStart>& starts) {
    for (const auto& start : starts) add(start);
    sheet_.cost = {median(decode_s_), median(transform_s_),
                   static_cast<std::int64_t>(decode_s_.size())};
    return std::move(sheet_);
  }

 private:
  void add(const SheetStart& start) {
    const auto window = window_at(start.labels, start.start, rule_);
    invariant(window.has_value(), "a start that has a window");
    RawClip clip;
    clip.plan = plan_;
    const double began = core_seconds();
    try {
      for (const auto& camera : binding_.cameras) {
        clip.view_THWC.push_back(reader_.read_frames(start.episode_idx, camera, window->video));
        const at::Tensor& view_THWC = clip.view_THWC.back();
        if (view_THWC.size(1) != geometry_.in_height || view_THWC.size(2) != geometry_.in_width)
          return;
      }
    } catch (const DataError&) {
      return;  // the check of the pictures has told it
    }
    const double decoded = core_seconds();
    clip.draws = draw_clip(geometry_, embodiment_.jitter,
                           CounterStream(0, Purpose::kAugmentation, sheet_.rows.size()));
    const at::Tensor jittered_THWC = image_of(clip);
    transform_s_.push_back(core_seconds() - decoded);
    decode_s_.push_back(decoded - began);
    clip.draws = centre_clip(geometry_);
    add_row(start, *window, image_of(clip), false);
    if (sheet_.rows.size() == 1) add_row(start, *window, jittered_THWC, true);
  }

  void add_row(const SheetStart& start,
               const Window& window,
               const at::Tensor& canvas_THWC,
               bool is_jittered) {
    SheetRow& row = sheet_.rows.emplace_back();
    row.episode = reader_.episode_number(start.episode_idx);
    row.instruction = start.instruction;
    row.is_jittered = is_jittered;
    const auto frames = static_cast<std::int64_t>(window.video.size());
    const std::int64_t shown = std::min(options_.pictures, frames);
    for (std::int64_t i = 0; i < shown; ++i) {
      const std::int64_t at = shown == 1 ? 0 : i * (frames - 1) / (shown - 1);
      row.frames.push_back(window.video[static_cast<std::size_t>(at)]);
      row.canvas_HWC.push_back(canvas_THWC.select(0, at).clone());
    }
  }

  const LeRobotReader& reader_;
  const Embodiment& embodiment_;
  const Binding& binding_;
  const WindowRule& rule_;
  const SheetOptions& options_;
  ViewGeometry geometry_;
  std::shared_ptr<const ClipPlan> plan_;
  std::vector<double> decode_s_;
  std::vector<double> transform_s_;
  Sheet sheet_;
};

}  // namespace

Sheet make_sheet(const LeRobotReader& reader,
                 const Embodiment& embodiment,
                 const Binding& binding,
                 const WindowRule& rule,
                 const std::vector<SheetStart>& starts,
                 const SheetOptions& options) {
  return SheetMaker(reader, embodiment, binding, rule, options).run(starts);
}

}  // namespace wam
