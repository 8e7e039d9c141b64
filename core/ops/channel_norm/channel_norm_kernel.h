#pragma once

#include <cstdint>

#include "core/cuda/kernel.h"

namespace wam {

inline constexpr std::int64_t kMaxChannels = 1280;

// Where an output lies: its first element, and the distances in elements between neighbours along
// each dimension.
struct ChannelRows {
  void* data = nullptr;  // null: not wanted
  std::int64_t batch = 0;
  std::int64_t frame = 0;
  std::int64_t row = 0;
  std::int64_t column = 0;
};

struct ChannelNormTask {
  Element element = Element::kBf16;
  const void* x = nullptr;      // (positions, channels), dense
  const void* skip = nullptr;   // the same, or null
  const float* bias = nullptr;  // (channels), or null
  const void* gamma = nullptr;  // (channels); null: no norm
  ChannelRows sum;
  ChannelRows normed;
  int places = 1;              // of `normed`: how many frames a place holds side by side
  std::int64_t positions = 0;  // batch * frames * rows * columns
  std::int64_t frames = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t channels = 0;  // a multiple of kVectorElements, <= kMaxChannels
  bool silu = false;
};

// sum = x + bias + skip and normed = act(sum / max(|sum|, 1e-12) * sqrt(channels) * gamma); see
// channel_norm.h. `sum` may lie on x or skip: a position is read before it is written, by the same
// threads. Every address is a multiple of 16 bytes, fewer than 2^31 positions; 0 is a no-op.
// Stream: ordered on `stream`, does not wait.
void channel_norm_launch(const ChannelNormTask& task, KernelStream stream);

}  // namespace wam
