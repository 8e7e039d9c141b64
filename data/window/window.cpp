#include "data/window/window.h"

#include <algorithm>
#include <set>

#include <fmt/core.h>

#include "core/base/errors.h"
#include "core/base/names.h"

namespace wam {
namespace {

using Frames = std::vector<std::int64_t>;

// The first `limit` anchors around `start` that fit, ascending. `fits` sees anchors in [0, L).
template <class Fits>
Frames anchors_around(std::span<const std::int64_t> labels,
                      std::int64_t start,
                      std::int64_t stride,
                      std::int64_t limit,
                      const Fits& fits) {
  const auto length = static_cast<std::int64_t>(labels.size());
  const auto in_span = [&](std::int64_t a) {
    return a >= 0 && a < length &&
           labels[static_cast<std::size_t>(a)] == labels[static_cast<std::size_t>(start)];
  };
  Frames taken;
  const auto take = [&](std::int64_t a) {
    if (static_cast<std::int64_t>(taken.size()) < limit && fits(a)) taken.push_back(a);
  };
  take(start);
  bool backward = true;
  bool forward = true;
  for (std::int64_t step = 1;
       (backward || forward) && static_cast<std::int64_t>(taken.size()) < limit; ++step) {
    backward = backward && in_span(start - step * stride);
    if (backward) take(start - step * stride);
    forward = forward && in_span(start + step * stride);
    if (forward) take(start + step * stride);
  }
  std::sort(taken.begin(), taken.end());
  return taken;
}

// Sorted, each frame once: anchors + offsets.
Frames spread(const Frames& anchors, const Frames& offsets) {
  Frames out;
  for (const auto anchor : anchors) {
    for (const auto offset : offsets) out.push_back(anchor + offset);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

Frames count_up(std::int64_t count) {
  Frames out(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) out[static_cast<std::size_t>(i)] = i;
  return out;
}

std::int64_t spacing(const WindowRule& rule) {
  return rule.offsets[1] - rule.offsets[0];
}

auto fit_test(std::int64_t length, const WindowRule& rule) {
  const std::int64_t reach = std::max(rule.horizon, rule.offsets.back() + spacing(rule) + 1);
  return [length, reach](std::int64_t a) { return a + reach <= length; };
}

void check_start(std::span<const std::int64_t> labels, std::int64_t start) {
  invariant(start >= 0 && start < static_cast<std::int64_t>(labels.size()),
            "a start outside its episode");
}

// Closes the clip, or drops all but the first frame of its last block where the episode ends.
void finish_video(ReferenceLists& lists, std::int64_t length, const WindowRule& rule) {
  Frames& video = lists.video;
  if (video.empty()) return;
  const auto n = static_cast<std::int64_t>(rule.offsets.size());
  const auto kept = static_cast<std::size_t>(rule.clip_frames());
  if (video.size() > kept) video.resize(kept);
  const std::int64_t next = video.back() + spacing(rule);
  const auto size = static_cast<std::int64_t>(video.size());
  if (next < length && size < rule.clip_frames()) {
    video.push_back(next);
  } else if (size <= n) {
    video.clear();
  } else {
    video.resize(static_cast<std::size_t>(size - (n - 1)));
  }
  if (static_cast<std::int64_t>(video.size()) % n != 1) video.clear();
  if (!video.empty()) lists.video_blocks = (static_cast<std::int64_t>(video.size()) - 1) / n;
}

std::optional<Window> reference_window(std::span<const std::int64_t> labels,
                                       std::int64_t start,
                                       const WindowRule& rule) {
  ReferenceLists lists = reference_lists(labels, start, rule);
  const bool complete =
      lists.video_blocks == rule.blocks &&
      static_cast<std::int64_t>(lists.state.size()) == rule.blocks &&
      static_cast<std::int64_t>(lists.action.size()) == rule.blocks * rule.horizon;
  if (!complete) return std::nullopt;
  return Window{std::move(lists.video), std::move(lists.state), std::move(lists.action)};
}

}  // namespace

std::vector<std::string> rule_problems(const WindowRule& rule) {
  std::vector<std::string> problems;
  if (rule.stride < rule.horizon) {
    problems.push_back(fmt::format(
        "macro_stride {} is below action_horizon {}: blocks would share actions. Fix: raise the "
        "stride",
        rule.stride, rule.horizon));
  }
  Frames anchors = count_up(rule.blocks);
  for (auto& anchor : anchors) anchor *= rule.stride;
  const auto frames = static_cast<std::int64_t>(spread(anchors, rule.offsets).size());
  if (frames != rule.clip_frames() - 1) {
    problems.push_back(fmt::format(
        "with macro_stride {} the video_offsets of neighbouring blocks collide: {} distinct frames "
        "instead of {}, so no window would ever be valid. Fix: a stride above the last offset {}, "
        "or "
        "one that meets no other offset",
        rule.stride, frames, rule.clip_frames() - 1, rule.offsets.back()));
  }
  return problems;
}

std::optional<Window> window_at(std::span<const std::int64_t> labels,
                                std::int64_t start,
                                const WindowRule& rule) {
  check_start(labels, start);
  if (rule.bug_compatible) return reference_window(labels, start, rule);
  const auto length = static_cast<std::int64_t>(labels.size());
  Window window;
  window.state = anchors_around(labels, start, rule.stride, rule.blocks, fit_test(length, rule));
  if (static_cast<std::int64_t>(window.state.size()) < rule.blocks) return std::nullopt;
  window.video = spread(window.state, rule.offsets);
  window.video.push_back(window.video.back() + spacing(rule));
  window.action = spread(window.state, count_up(rule.horizon));
  return window;
}

std::vector<std::int64_t> valid_starts(std::span<const std::int64_t> labels,
                                       const WindowRule& rule) {
  const auto length = static_cast<std::int64_t>(labels.size());
  Frames starts;
  for (std::int64_t start = 0; start < length; ++start) {
    const bool valid =
        rule.bug_compatible
            ? reference_window(labels, start, rule).has_value()
            : static_cast<std::int64_t>(
                  anchors_around(labels, start, rule.stride, rule.blocks, fit_test(length, rule))
                      .size()) == rule.blocks;
    if (valid) starts.push_back(start);
  }
  return starts;
}

ReferenceLists reference_lists(std::span<const std::int64_t> labels,
                               std::int64_t start,
                               const WindowRule& rule) {
  check_start(labels, start);
  const auto length = static_cast<std::int64_t>(labels.size());
  const std::int64_t reach = std::max(rule.offsets.back(), rule.horizon - 1);
  const auto within = [length](std::int64_t extent) {
    return [length, extent](std::int64_t a) { return a + extent < length; };
  };
  ReferenceLists lists;
  lists.video =
      spread(anchors_around(labels, start, rule.stride, rule.blocks, within(reach)), rule.offsets);
  finish_video(lists, length, rule);
  const std::int64_t limit =
      lists.video_blocks > 0 ? std::min(rule.blocks, lists.video_blocks) : rule.blocks;
  lists.action = spread(anchors_around(labels, start, rule.stride, limit, within(rule.horizon)),
                        count_up(rule.horizon));
  lists.action.resize(lists.action.size() -
                      lists.action.size() % static_cast<std::size_t>(rule.horizon));
  lists.state = anchors_around(labels, start, rule.stride, limit, within(rule.stride));
  return lists;
}

}  // namespace wam
