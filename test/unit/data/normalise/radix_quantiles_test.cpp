#include "data/normalise/radix_quantiles.h"

#include <algorithm>
#include <array>
#include <limits>
#include <random>
#include <vector>

#include "test/support/catch.h"

using wam::RadixQuantiles;

namespace {

constexpr std::array kQuantiles{0.01, 0.5, 0.99};

// numpy's default, on the sorted list.
double of_sorted(const std::vector<float>& sorted, double q) {
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const auto low = static_cast<double>(sorted[below]);
  const auto high = static_cast<double>(sorted[std::min(below + 1, sorted.size() - 1)]);
  const double t = position - static_cast<double>(below);
  return t < 0.5 ? low + (high - low) * t : high - (high - low) * (1 - t);
}

void check(std::vector<float> values) {
  RadixQuantiles quantiles;
  const std::span<const float> all(values);
  const std::size_t cut = values.size() / 3;
  quantiles.count(all.first(cut));
  quantiles.count(all.subspan(cut));
  quantiles.begin_second_pass(kQuantiles);
  quantiles.count_again(all.subspan(cut));
  quantiles.count_again(all.first(cut));
  REQUIRE(quantiles.num_values() == values.size());

  std::sort(values.begin(), values.end());
  for (const double q : kQuantiles) CHECK(quantiles.quantile(q) == of_sorted(values, q));
}

template <class Distribution>
std::vector<float> draw(std::size_t count, Distribution distribution) {
  std::mt19937 generator(7);
  std::vector<float> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(distribution(generator));
  return out;
}

}  // namespace

TEST_CASE("quantiles without keeping the values are those of the sorted list, to the bit") {
  for (const std::size_t count : {1U, 2U, 3U, 100U, 101U, 5000U}) {
    INFO(count);
    check(draw(count, std::normal_distribution<float>(0, 1)));
    check(draw(count, std::uniform_real_distribution<float>(0.5F, 0.5001F)));
    check(draw(count, std::normal_distribution<float>(-3e30F, 1e30F)));
  }
}

TEST_CASE("quantiles of repeats, of one value, of the smallest and largest numbers") {
  std::vector<float> values = draw(1000, std::normal_distribution<float>(0, 1));
  for (float& value : values) value = value < 0 ? -1.0F : 1.0F;
  check(values);
  check(std::vector<float>(500, 0.04F));
  using Limits = std::numeric_limits<float>;
  check({Limits::lowest(), -Limits::denorm_min(), 0.0F, Limits::denorm_min(), Limits::max()});
}

TEST_CASE("both zeros are one") {
  check({-0.0F, 0.0F, -0.0F, 1.0F});
  check({-1.0F, 0.0F, -0.0F, 0.0F, -0.0F});
}
