#include "data/normalise/dimension_statistics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>

namespace wam {
namespace {

constexpr std::array kQuantiles{0.01, 0.99};

// Takes `a` for `b` where it lies further out, or as far in an earlier episode.
template <class Further>
void take(const Extreme& a, Extreme& b, Further further) {
  const bool is_first = b.episode == Extreme().episode;
  const bool is_equal = a.value == b.value;
  if (is_first || further(a.value, b.value) || (is_equal && a.episode < b.episode)) b = a;
}

}  // namespace

void DimensionStatistics::first_pass(std::size_t episode, std::span<const float> values) {
  double sum = 0;
  Extreme low;
  Extreme high;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float value = values[i] + 0.0F;  // both zeros are one
    if (!std::isfinite(value)) continue;
    sum += static_cast<double>(value);
    const bool is_first = low.episode != episode;
    if (is_first || value < low.value) low = {value, episode, i};
    if (is_first || value > high.value) high = {value, episode, i};
  }
  if (low.episode != episode) return;  // no value
  sums_[episode] = sum;
  const std::lock_guard lock(mutex_);
  take(low, lowest_, std::less<float>());
  take(high, highest_, std::greater<float>());
  quantiles_.count(values);
}

void DimensionStatistics::begin_second_pass() {
  quantiles_.begin_second_pass(kQuantiles);
  mean_ = std::accumulate(sums_.begin(), sums_.end(), 0.0) / static_cast<double>(num_values());
  std::fill(sums_.begin(), sums_.end(), 0.0);
}

void DimensionStatistics::second_pass(std::size_t episode, std::span<const float> values) {
  double squares = 0;
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    const double distance = static_cast<double>(value) - mean_;
    squares += distance * distance;
  }
  sums_[episode] = squares;
  const std::lock_guard lock(mutex_);
  quantiles_.count_again(values);
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
