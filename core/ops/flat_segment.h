#pragma once

#include <cstdint>

namespace wam {

// Segments start at multiples of this many elements.
inline constexpr std::int64_t kSegmentAlignment = 64;

// A tensor in a flat buffer, or the part of it that lies in a shard: elements [begin, begin +
// numel). What follows up to the next multiple of kSegmentAlignment belongs to it and is zero.
struct FlatSegment {
  std::int64_t begin = 0;
  std::int64_t numel = 0;

  // Where the next segment may begin.
  [[nodiscard]] std::int64_t padded_end() const {
    return begin + (numel + kSegmentAlignment - 1) / kSegmentAlignment * kSegmentAlignment;
  }
};

}  // namespace wam
