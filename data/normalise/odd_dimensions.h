#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/names.h"
#include "data/normalise/statistics.h"

namespace wam {

// What makes a dimension one to look at before it is trained on.
enum class Oddity {
  kConstant,      // one value
  kNearConstant,  // all values within kNarrowRange, up to float32's rounding
  kRarelyMoves,   // q01 equals q99, but not the extremes
  kOutlier        // an extreme more than kFarRanges times q99 - q01 beyond its quantile
};
template <>
struct EnumNames<Oddity> {
  static constexpr std::array<std::pair<Oddity, std::string_view>, 4> table{
      {{Oddity::kConstant, "constant"},
       {Oddity::kNearConstant, "near-constant"},
       {Oddity::kRarelyMoves, "rarely moves"},
       {Oddity::kOutlier, "outlier"}}};
};

inline constexpr double kNarrowRange = 1e-4;
inline constexpr double kFarRanges = 10;

struct OddDimension {
  std::string key;  // "action.joint_position"
  std::size_t dimension = 0;
  Oddity oddity = Oddity::kConstant;
  // Which extremes stand out. Both false for those that are about the range.
  bool is_min_far = false;
  bool is_max_far = false;
  bool operator==(const OddDimension&) const = default;
};

// What is odd about it, for people: "max 1e+06 (PLACE), where 98 % lie between -1 and 1". The
// places are those of the dimension's extremes.
std::string describe(const OddDimension& odd,
                     const KeyStatistics& key,
                     const std::string& min_place,
                     const std::string& max_place);

// In the order of keys, state first; at most one a dimension, the first that holds.
std::vector<OddDimension> odd_dimensions(const Statistics& statistics);

}  // namespace wam
