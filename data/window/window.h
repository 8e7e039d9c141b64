#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace wam {

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

  // Frames of a clip: n * K + 1.
  [[nodiscard]] std::int64_t clip_frames() const {
    return static_cast<std::int64_t>(offsets.size()) * blocks + 1;
  }
};

// Frames of one episode, ascending.
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
// labels[i] tells instructions apart: anchors are taken within the span of equal labels around
// `start`, in the order start, start - S, start + S, start - 2S, ...; a walk ends for good at the
// episode's end or at another label. Anchors that do not fit are passed over. The first K that fit
// make the window, so near an episode's end it lies before its start.
// An anchor a fits when a + H <= L (its actions exist) and a + last offset + spacing < L (its
// frames and the frame that would close the clip exist).
//
// Source: RLinf @ a3816b5, multi_anchor sampling; the fit test is ours: the reference's three
//         separate ones let video and actions part.
std::optional<Window> window_at(std::span<const std::int64_t> labels,
                                std::int64_t start,
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
