#include "data/normalise/odd_dimensions.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include <fmt/core.h>

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

std::string describe(const OddDimension& odd,
                     const KeyStatistics& key,
                     const std::string& min_place,
                     const std::string& max_place) {
  const std::size_t d = odd.dimension;
  switch (odd.oddity) {
    case Oddity::kConstant:
      return fmt::format("every value is {:.6g}", key.min[d]);
    case Oddity::kNearConstant:
      return fmt::format("every value lies between {:.9g} and {:.9g}", key.min[d], key.max[d]);
    case Oddity::kRarelyMoves:
      return fmt::format("q01 and q99 are both {:.6g}, the extremes {:.6g} ({}) and {:.6g} ({})",
                         key.q01[d], key.min[d], min_place, key.max[d], max_place);
    case Oddity::kOutlier:
      break;
  }
  std::string far;
  if (odd.is_min_far) far = fmt::format("min {:.6g} ({})", key.min[d], min_place);
  if (odd.is_max_far) {
    far += fmt::format("{}max {:.6g} ({})", far.empty() ? "" : " and ", key.max[d], max_place);
  }
  return fmt::format("{}, where 98 % lie between {:.6g} and {:.6g}", far, key.q01[d], key.q99[d]);
}

std::vector<OddDimension> odd_dimensions(const Statistics& statistics) {
  std::vector<OddDimension> out;
  look_at(statistics.state, "state", out);
  look_at(statistics.action, "action", out);
  return out;
}

}  // namespace wam
