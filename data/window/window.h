#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/names.h"

namespace wam {

// Which frames of an episode a start frame stands for.
enum class Sampling {
  kMultiAnchor,         // K blocks around anchors; no window where fewer fit
  kMultiAnchorPartial,  // as many blocks as fit, 1 ... K: samples differ in length
  kFixedWindow,         // consecutive frames from the start on, clamped to the episode
};
template <>
struct EnumNames<Sampling> {
  static constexpr std::array<std::pair<Sampling, std::string_view>, 3> table{
      {{Sampling::kMultiAnchor, "multi_anchor"},
       {Sampling::kMultiAnchorPartial, "multi_anchor_partial"},
       {Sampling::kFixedWindow, "fixed_window"}}};
};

// A window: K blocks around an anchor each. Block c has the video frames anchor + O, the state at
// its anchor and the actions anchor ... anchor + H - 1. The frame after the last block's frames
// closes the clip, so that it has n * K + 1 frames with n = |O|.
struct WindowRule {
  std::int64_t blocks = 4;            // K
  std::int64_t horizon = 0;           // H, actions per block
  std::int64_t stride = 0;            // S, frames between two anchors
  std::vector<std::int64_t> offsets;  // O, ascending from 0
  // The reference's separate tests for video and actions, with the windows that part (see
  // reference_lists), instead of one list of anchors.
  bool bug_compatible = false;
  Sampling sampling = Sampling::kMultiAnchor;

  // Least length of an episode (of a span of one instruction) that gives a window.
  [[nodiscard]] std::int64_t shortest_episode() const;
  // Frames of a clip: n * K + 1.
  [[nodiscard]] std::int64_t clip_frames() const {
    return static_cast<std::int64_t>(offsets.size()) * blocks + 1;
  }
};

// Frames of one episode, ascending; kFixedWindow repeats the last one. Of K blocks, or fewer with
// kMultiAnchorPartial.
struct Window {
  std::vector<std::int64_t> video;   // n * K + 1
  std::vector<std::int64_t> state;   // K anchors
  std::vector<std::int64_t> action;  // K * H
  bool operator==(const Window&) const = default;
};

// What makes a rule impossible (offsets of neighbouring anchors that collide, blocks that share
// actions), in words for the user; empty when it is sound.
std::vector<std::string> rule_problems(const WindowRule& rule);

// The window that start frame `start` stands for, or nothing when there is none.
//
// labels[i] tells instructions apart. Anchors are taken in the order start, start - S, start + S,
// start - 2S, ...; those that do not fit are passed over. The first K that fit make the window, so
// near an end it lies before its start.
// An anchor a fits when it, its actions (up to a + H - 1), its frames and the frame that would
// close the clip (a + last offset + spacing) lie in the stretch of equal labels around `start`.
// With kFixedWindow, whatever the labels: video start ... start + n * K, states start + c * H,
// actions start ... start + K * H - 1, each clamped to the last frame.
//
// Source: RLinf @ a3816b5, multi_anchor and fixed_window sampling; the fit test is ours: the
//         reference's three separate ones let video and actions part, and blocks reach into the
//         next instruction. Partial windows: DreamZero @ ab790c1.
std::optional<Window> window_at(std::span<const std::int64_t> labels,
                                std::int64_t start,
                                const WindowRule& rule);

// By frame, the blocks of the window that it starts; 0 where there is none.
std::vector<std::int64_t> blocks_by_start(std::span<const std::int64_t> labels,
                                          const WindowRule& rule);

// Every start frame of an episode that has a window, ascending.
std::vector<std::int64_t> valid_starts(std::span<const std::int64_t> labels,
                                       const WindowRule& rule);

// The reference's three lists for a start, before it asks whether they are complete: video needs
// a + max(last offset, H - 1) < L, actions a + H < L, states a + S < L, each list on its own.
struct ReferenceLists {
  std::vector<std::int64_t> video;  // n * blocks + 1, or empty
  std::vector<std::int64_t> state;
  std::vector<std::int64_t> action;
  std::int64_t video_blocks = 0;
};
ReferenceLists reference_lists(std::span<const std::int64_t> labels,
                               std::int64_t start,
                               const WindowRule& rule);

}  // namespace wam
