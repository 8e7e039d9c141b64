#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace wam {

// The elements [begin, end) of one flat array, as one holder (a rank, a file) has them.
struct HeldRange {
  std::size_t holder = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;

  bool operator==(const HeldRange&) const = default;
};

// `numel` elements to copy: from position `holder_offset` of what the holder has to position
// `target_offset` of the range that is wanted.
struct RangeCopy {
  std::size_t holder = 0;
  std::int64_t holder_offset = 0;
  std::int64_t target_offset = 0;
  std::int64_t numel = 0;
};

// The copies that make up [begin, end) of an array of `numel` elements, in order, each element
// once. `held` in any order; empty ranges are ignored. `what` names the array in messages. Errors:
// DataError when `held` does not tile [0, numel) exactly (a gap or an overlap).
std::vector<RangeCopy> plan_range(std::vector<HeldRange> held,
                                  std::int64_t numel,
                                  std::int64_t begin,
                                  std::int64_t end,
                                  const std::string& what);

}  // namespace wam
