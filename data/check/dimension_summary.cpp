#include "data/check/dimension_summary.h"

#include <algorithm>
#include <cmath>

namespace wam {
namespace {

constexpr std::size_t kBars = 48;

}  // namespace

DimensionSummary summary_of(const DimensionStatistics& statistics) {
  KeyStatistics key;
  statistics.append_to(key);
  DimensionSummary out;
  out.min = key.min[0];
  out.max = key.max[0];
  out.mean = key.mean[0];
  out.std = key.std[0];
  out.q01 = key.q01[0];
  out.q99 = key.q99[0];
  return out;
}

// An outlier must not squeeze them into one.
void begin_bars(DimensionSummary& out) {
  const double room = (out.q99 - out.q01) / 2;
  out.low = std::max(out.min, out.q01 - room);
  out.high = std::min(out.max, out.q99 + room);
  if (out.low >= out.high) {
    const double half = std::max(std::abs(out.low), 1.0) * 1e-3;
    out.low -= half;
    out.high += half;
  }
  out.counts.assign(kBars, 0);
}

void count(std::span<const float> values, DimensionSummary& out) {
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    const double share = (static_cast<double>(value) - out.low) / (out.high - out.low);
    if (share < 0) {
      ++out.below;
    } else if (share > 1) {
      ++out.above;
    } else {
      ++out.counts[std::min(kBars - 1, static_cast<std::size_t>(share * kBars))];
    }
  }
}

}  // namespace wam
