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

// Frames that a block takes from its anchor on, with the one that would close the clip.
std::int64_t reach_of(const WindowRule& rule) {
  return std::max(rule.horizon, rule.offsets.back() + spacing(rule) + 1);
}

// Where anchors may lie around a start: [first, last], both included; last < first: nowhere.
struct AnchorRange {
  std::int64_t first = 0;
  std::int64_t last = -1;
};
AnchorRange anchor_range(std::span<const std::int64_t> labels,
                         std::int64_t start,
                         const WindowRule& rule) {
  const auto label = [&](std::int64_t i) { return labels[static_cast<std::size_t>(i)]; };
  std::int64_t begin = start;
  std::int64_t end = start + 1;
  while (begin > 0 && label(begin - 1) == label(start)) --begin;
  while (end < static_cast<std::int64_t>(labels.size()) && label(end) == label(start)) ++end;
  return {begin, end - reach_of(rule)};
}

// Anchors start + j * stride within the range.
std::int64_t count_anchors(const AnchorRange& range, std::int64_t start, std::int64_t stride) {
  const std::int64_t lowest = start - (start - range.first) / stride * stride;
  return range.last < lowest ? 0 : (range.last - lowest) / stride + 1;
}

bool is_enough(std::int64_t anchors, const WindowRule& rule) {
  return anchors >= (rule.sampling == Sampling::kMultiAnchorPartial ? 1 : rule.blocks);
}

// Of the anchors within the range those nearest to the start, the earlier one first; ascending.
Frames nearest_anchors(const AnchorRange& range, std::int64_t start, const WindowRule& rule) {
  Frames taken;
  const auto take = [&](std::int64_t a) {
    const bool open = static_cast<std::int64_t>(taken.size()) < rule.blocks;
    if (open && a >= range.first && a <= range.last) taken.push_back(a);
  };
  const auto count = std::min(rule.blocks, count_anchors(range, start, rule.stride));
  take(start);
  for (std::int64_t step = 1; static_cast<std::int64_t>(taken.size()) < count; ++step) {
    take(start - step * rule.stride);
    take(start + step * rule.stride);
  }
  std::sort(taken.begin(), taken.end());
  return taken;
}

Window fixed_window(std::int64_t length, std::int64_t start, const WindowRule& rule) {
  const auto from_start = [&](std::int64_t count, std::int64_t step) {
    Frames out = count_up(count);
    for (auto& frame : out) frame = std::min(start + frame * step, length - 1);
    return out;
  };
  return {from_start(rule.clip_frames(), 1), from_start(rule.blocks, rule.horizon),
          from_start(rule.blocks * rule.horizon, 1)};
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
  const auto blocks = lists.video_blocks;
  const bool complete = is_enough(blocks, rule) &&
                        static_cast<std::int64_t>(lists.state.size()) == blocks &&
                        static_cast<std::int64_t>(lists.action.size()) == blocks * rule.horizon;
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

std::int64_t WindowRule::shortest_episode() const {
  if (sampling == Sampling::kFixedWindow) return 1;
  const std::int64_t least = sampling == Sampling::kMultiAnchorPartial ? 1 : blocks;
  return (least - 1) * stride + reach_of(*this);
}

std::optional<Window> window_at(std::span<const std::int64_t> labels,
                                std::int64_t start,
                                const WindowRule& rule) {
  check_start(labels, start);
  if (rule.sampling == Sampling::kFixedWindow) {
    return fixed_window(static_cast<std::int64_t>(labels.size()), start, rule);
  }
  if (rule.bug_compatible) return reference_window(labels, start, rule);
  const auto range = anchor_range(labels, start, rule);
  Window window;
  window.state = nearest_anchors(range, start, rule);
  if (!is_enough(static_cast<std::int64_t>(window.state.size()), rule)) return std::nullopt;
  window.video = spread(window.state, rule.offsets);
  window.video.push_back(window.video.back() + spacing(rule));
  window.action = spread(window.state, count_up(rule.horizon));
  return window;
}

std::vector<std::int64_t> blocks_by_start(std::span<const std::int64_t> labels,
                                          const WindowRule& rule) {
  Frames blocks(labels.size(), rule.blocks);
  if (rule.sampling == Sampling::kFixedWindow) return blocks;
  AnchorRange range;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto start = static_cast<std::int64_t>(i);
    if (rule.bug_compatible) {
      const auto window = reference_window(labels, start, rule);
      blocks[i] = window ? static_cast<std::int64_t>(window->state.size()) : 0;
      continue;
    }
    if (i == 0 || labels[i] != labels[i - 1]) range = anchor_range(labels, start, rule);
    const auto anchors = count_anchors(range, start, rule.stride);
    blocks[i] = is_enough(anchors, rule) ? std::min(anchors, rule.blocks) : 0;
  }
  return blocks;
}

std::vector<std::int64_t> valid_starts(std::span<const std::int64_t> labels,
                                       const WindowRule& rule) {
  const Frames blocks = blocks_by_start(labels, rule);
  Frames starts;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i] > 0) starts.push_back(static_cast<std::int64_t>(i));
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
