#include "data/normalise/radix_quantiles.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/base/errors.h"

namespace wam {
namespace {

constexpr std::uint32_t kSign = 0x80000000U;
constexpr std::uint32_t kHalf = 16;
constexpr std::uint32_t kLowerMask = 0xFFFFU;

// Bits that sort as the values do; both zeros are one.
std::uint32_t sortable(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value + 0.0F);
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}

double value_of(std::uint32_t sortable_bits) {
  const std::uint32_t bits = (sortable_bits & kSign) != 0 ? sortable_bits & ~kSign : ~sortable_bits;
  return static_cast<double>(std::bit_cast<float>(bits));
}

}  // namespace

void RadixQuantiles::count(std::span<const float> values) {
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    ++upper_[sortable(value) >> kHalf];
    ++num_values_;
  }
}

void RadixQuantiles::begin_second_pass(std::span<const double> quantiles) {
  invariant(num_values_ > 0, "quantiles of no value");
  for (const double q : quantiles) {
    const auto below = static_cast<std::uint64_t>(q * static_cast<double>(num_values_ - 1));
    add_part(below);
    add_part(std::min(below + 1, num_values_ - 1));
  }
  std::sort(parts_.begin(), parts_.end(),
            [](const Part& a, const Part& b) { return a.upper < b.upper; });
}

void RadixQuantiles::add_part(std::uint64_t place) {
  std::uint64_t before = 0;
  std::uint32_t upper = 0;
  while (before + upper_[upper] <= place) before += upper_[upper++];
  const bool is_there = std::any_of(parts_.begin(), parts_.end(),
                                    [&](const Part& part) { return part.upper == upper; });
  if (is_there) return;
  Part part;
  part.upper = upper;
  part.before = before;
  parts_.push_back(std::move(part));
}

void RadixQuantiles::count_again(std::span<const float> values) {
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    const std::uint32_t bits = sortable(value);
    for (Part& part : parts_) {
      if (part.upper == bits >> kHalf) ++part.lower[bits & kLowerMask];
    }
  }
}

double RadixQuantiles::at(std::uint64_t place) const {
  const Part* part = &parts_.front();
  for (const Part& next : parts_) {
    if (next.before <= place) part = &next;
  }
  std::uint64_t before = part->before;
  std::uint32_t lower = 0;
  while (lower < kBins && before + part->lower[lower] <= place) before += part->lower[lower++];
  invariant(lower < kBins, "both passes have the same values, and the quantile was named");
  return value_of(part->upper << kHalf | lower);
}

double RadixQuantiles::quantile(double q) const {
  const double position = q * static_cast<double>(num_values_ - 1);
  const auto below = static_cast<std::uint64_t>(position);
  const double low = at(below);
  if (below + 1 == num_values_) return low;
  const double high = at(below + 1);
  const double t = position - static_cast<double>(below);
  return t < 0.5 ? low + (high - low) * t : high - (high - low) * (1 - t);
}

}  // namespace wam
