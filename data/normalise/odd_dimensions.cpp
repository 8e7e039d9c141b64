#include "data/normalise/odd_dimensions.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace wam {
namespace {

// Up to which two values of this size are as good as kNarrowRange apart: their difference is off by
// the rounding of each.
double narrow_range(double low, double high) {
  constexpr auto kRounding = static_cast<double>(std::numeric_limits<float>::epsilon());
  return kNarrowRange + kRounding * std::max(std::abs(low), std::abs(high));
}

std::optional<OddDimension> look_at(const KeyStatistics& key, std::size_t d) {
  OddDimension out;
  out.dimension = d;
  const double range = key.q99[d] - key.q01[d];
  if (key.min[d] == key.max[d]) return out;
  if (key.max[d] - key.min[d] <= narrow_range(key.min[d], key.max[d])) {
    out.oddity = Oddity::kNearConstant;
    return out;
  }
  if (range == 0) {
    out.oddity = Oddity::kRarelyMoves;
    return out;
  }
  out.oddity = Oddity::kOutlier;
  out.is_min_far = key.q01[d] - key.min[d] > kFarRanges * range;
  out.is_max_far = key.max[d] - key.q99[d] > kFarRanges * range;
  if (out.is_min_far || out.is_max_far) return out;
  return std::nullopt;
}

void look_at(const std::map<std::string, KeyStatistics>& keys,
             const std::string& kind,
             std::vector<OddDimension>& out) {
  for (const auto& [name, key] : keys) {
    for (std::size_t d = 0; d < key.width(); ++d) {
      auto odd = look_at(key, d);
      if (!odd) continue;
      odd->key = kind + "." + name;
      out.push_back(*odd);
    }
  }
}

}  // namespace

std::vector<OddDimension> odd_dimensions(const Statistics& statistics) {
  std::vector<OddDimension> out;
  look_at(statistics.state, "state", out);
  look_at(statistics.action, "action", out);
  return out;
}

}  // namespace wam
