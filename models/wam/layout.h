#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/ops/token_rows/token_rows.h"
#include "models/wam/config.h"

namespace wam {

// A run of consecutive tokens.
struct TokenRange {
  std::int64_t begin = 0;
  std::int64_t count = 0;

  [[nodiscard]] std::int64_t end() const noexcept { return begin + count; }
  bool operator==(const TokenRange&) const = default;
};

// How time enters: actions of a block share the block's timestep, or each has its own.
enum class ActionTime { kOfBlock, kOwn };

// The order of the tokens inside the transformer, for N blocks of two latent frames:
//
//   clean frame 0, clean blocks 0..N-1 | noisy frame 0 | [noisy block i, actions i] for each i |
//   state 0..N-1
//
// Clean tokens come first and states last, so that the tokens that matter after the last block are
// one range; a block's video and actions stand together, since they have the same keys. Without
// actions there are no state tokens either.
//
// Rows of the timestep table: 0 is t = 0 (clean), 1 noisy frame 0, 2 + i block i, and with
// ActionTime::kOwn 2 + N + a action a. A state has the timestep of its block's first action.
struct TokenLayout {
  std::int64_t blocks = 0;
  std::int64_t patch_rows = 0;
  std::int64_t patch_columns = 0;
  std::int64_t actions_per_block = 0;  // 0: no actions and no states
  ActionTime action_time = ActionTime::kOfBlock;

  [[nodiscard]] std::int64_t frames() const noexcept {
    return 1 + WamConfig::kFramesPerBlock * blocks;
  }
  [[nodiscard]] std::int64_t frame_tokens() const noexcept { return patch_rows * patch_columns; }
  [[nodiscard]] std::int64_t block_video_tokens() const noexcept {
    return WamConfig::kFramesPerBlock * frame_tokens();
  }
  [[nodiscard]] std::int64_t video_tokens() const noexcept { return frames() * frame_tokens(); }
  [[nodiscard]] std::int64_t actions() const noexcept { return blocks * actions_per_block; }
  [[nodiscard]] std::int64_t tokens() const noexcept { return states().end(); }
  [[nodiscard]] std::int64_t time_rows() const noexcept {
    return 2 + blocks + (action_time == ActionTime::kOwn ? actions() : 0);
  }

  [[nodiscard]] TokenRange clean() const noexcept { return {0, video_tokens()}; }
  [[nodiscard]] TokenRange noisy_frame0() const noexcept {
    return {video_tokens(), frame_tokens()};
  }
  // Noisy video of block i and its actions.
  [[nodiscard]] TokenRange noisy_block(std::int64_t block_idx) const noexcept {
    const std::int64_t count = block_video_tokens() + actions_per_block;
    return {noisy_frame0().end() + block_idx * count, count};
  }
  [[nodiscard]] TokenRange states() const noexcept {
    return {noisy_block(blocks).begin, actions_per_block > 0 ? blocks : 0};
  }
  // Everything that queries in self attention: all but the states.
  [[nodiscard]] TokenRange queries() const noexcept { return {0, states().begin}; }
  // Everything that is read after the last block: noisy video and actions.
  [[nodiscard]] TokenRange results() const noexcept {
    return {video_tokens(), states().begin - video_tokens()};
  }

  bool operator==(const TokenLayout&) const = default;
};

// Rows of the timestep table for the tokens of `range`, numbered from its start. The range is
// the whole sequence or TokenLayout::results.
TokenRows time_rows_of(const TokenLayout& layout, const TokenRange& range);

// (L, K/2, 2) in double on the CPU: cos and sin of the rotary angles of every token.
//
// Video: pairs are split over frame, row and column (K - 4 floor(K/6), 2 floor(K/6), 2 floor(K/6)
// channels), each axis with its own spectrum 10000^(-2k/dim). Actions and states: all pairs over
// the position of the action (global over blocks) or of the block. Clean and noisy tokens have the
// same positions. Source: DreamZero wan_video_dit_action_casual_chunk.py @ ab790c1.
at::Tensor rotary_table(const TokenLayout& layout, std::int64_t head_width);

}  // namespace wam
