#pragma once

#include <cstdint>
#include <limits>
#include <mutex>
#include <span>
#include <vector>

#include "data/normalise/radix_quantiles.h"
#include "data/normalise/statistics.h"

namespace wam {

// An extreme value, and the first place where it is.
struct Extreme {
  float value = 0;
  std::size_t episode = std::numeric_limits<std::size_t>::max();
  std::size_t place = 0;  // among the episode's values
};

// One dimension's statistics of float32 values that pass by twice, an episode at a time and in any
// order, reduced in float64; the result does not depend on the order. Those that are not finite are
// passed over. 8 bytes an episode are kept.
//
// Threads: `first_pass` and `second_pass` from any thread, each for episodes of its own.
class DimensionStatistics {
 public:
  explicit DimensionStatistics(std::size_t num_episodes) : sums_(num_episodes) {}

  void first_pass(std::size_t episode, std::span<const float> values);
  [[nodiscard]] std::uint64_t num_values() const noexcept { return quantiles_.num_values(); }
  // At least one value.
  void begin_second_pass();
  void second_pass(std::size_t episode, std::span<const float> values);
  void append_to(KeyStatistics& key) const;
  [[nodiscard]] const Extreme& lowest() const noexcept { return lowest_; }
  [[nodiscard]] const Extreme& highest() const noexcept { return highest_; }

 private:
  std::mutex mutex_;
  RadixQuantiles quantiles_;
  Extreme lowest_;
  Extreme highest_;
  double mean_ = 0;
  std::vector<double> sums_;  // of each episode: of its values, then of their squares around mean_
};

}  // namespace wam
