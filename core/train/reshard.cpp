#include "core/train/reshard.h"

#include <algorithm>

#include "core/base/errors.h"

namespace wam {
namespace {

void check_tiling(const std::vector<HeldRange>& held, std::int64_t numel, const std::string& what) {
  std::int64_t at = 0;
  for (const HeldRange& range : held) {
    require<DataError>(
        range.begin == at,
        "putting {} together: elements [{}, {}) are held {}. The files do not belong "
        "to one checkpoint, or its manifest is damaged.",
        what, std::min(at, range.begin), std::max(at, range.begin),
        range.begin > at ? "by no file" : "twice");
    at = range.end;
  }
  require<DataError>(at == numel,
                     "putting {} together: the files hold {} elements, expected {}. They do not "
                     "belong to one checkpoint, or its manifest is damaged.",
                     what, at, numel);
}

}  // namespace

std::vector<RangeCopy> plan_range(std::vector<HeldRange> held,
                                  std::int64_t numel,
                                  std::int64_t begin,
                                  std::int64_t end,
                                  const std::string& what) {
  require<InvariantError>(0 <= begin && begin <= end && end <= numel,
                          "the range [{}, {}) of {} lies outside of its {} elements", begin, end,
                          what, numel);
  std::erase_if(held, [](const HeldRange& range) { return range.begin >= range.end; });
  std::sort(held.begin(), held.end(),
            [](const HeldRange& a, const HeldRange& b) { return a.begin < b.begin; });
  check_tiling(held, numel, what);
  std::vector<RangeCopy> copies;
  for (const HeldRange& range : held) {
    const std::int64_t from = std::max(begin, range.begin);
    const std::int64_t to = std::min(end, range.end);
    if (from >= to) continue;
    copies.push_back({.holder = range.holder,
                      .holder_offset = from - range.begin,
                      .target_offset = from - begin,
                      .numel = to - from});
  }
  return copies;
}

}  // namespace wam
