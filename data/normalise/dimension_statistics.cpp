#include "data/normalise/dimension_statistics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace wam {
namespace {

constexpr std::array kQuantiles{0.01, 0.99};

// Whether `a` replaces `b`: further out, or as far and in an earlier episode.
template <class Further>
void take(const Extreme& a, Extreme& b, bool is_first, Further further) {
  const bool is_equal = !further(a.value, b.value) && !further(b.value, a.value);
  if (is_first || further(a.value, b.value) || (is_equal && a.episode < b.episode)) b = a;
}

Extreme at(std::span<const float> values, std::span<const float>::iterator it, std::size_t e) {
  return {*it + 0.0F, e, static_cast<std::size_t>(it - values.begin())};
}

}  // namespace

void DimensionStatistics::first_pass(std::size_t episode, std::span<const float> finite) {
  if (finite.empty()) return;
  double sum = 0;
  for (const float value : finite) sum += static_cast<double>(value);
  sums_[episode] = sum;
  const Extreme low = at(finite, std::min_element(finite.begin(), finite.end()), episode);
  const Extreme high = at(finite, std::max_element(finite.begin(), finite.end()), episode);
  const std::lock_guard lock(mutex_);
  const bool is_first = num_values() == 0;
  take(low, lowest_, is_first, std::less<float>());
  take(high, highest_, is_first, std::greater<float>());
  quantiles_.count(finite);
}

void DimensionStatistics::begin_second_pass() {
  quantiles_.begin_second_pass(kQuantiles);
  mean_ = std::accumulate(sums_.begin(), sums_.end(), 0.0) / static_cast<double>(num_values());
  std::fill(sums_.begin(), sums_.end(), 0.0);
}

void DimensionStatistics::second_pass(std::size_t episode, std::span<const float> finite) {
  double squares = 0;
  for (const float value : finite) {
    const double distance = static_cast<double>(value) - mean_;
    squares += distance * distance;
  }
  sums_[episode] = squares;
  const std::lock_guard lock(mutex_);
  quantiles_.count_again(finite);
}

void DimensionStatistics::append_to(KeyStatistics& key) const {
  const double squares = std::accumulate(sums_.begin(), sums_.end(), 0.0);
  key.min.push_back(static_cast<double>(lowest_.value));
  key.max.push_back(static_cast<double>(highest_.value));
  key.mean.push_back(mean_);
  key.std.push_back(std::sqrt(squares / static_cast<double>(num_values())));
  key.q01.push_back(quantiles_.quantile(kQuantiles[0]));
  key.q99.push_back(quantiles_.quantile(kQuantiles[1]));
}

}  // namespace wam
