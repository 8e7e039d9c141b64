#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace wam {

// Exact quantiles of float32 values that pass by twice, in any order, and are not kept: the first
// pass counts them by the upper half of their bits, the second those by the lower half whose upper
// half holds a quantile. About 1 MiB, whatever the number of values. Values that are not finite are
// passed over.
//
// Threads: none; what is counted does not depend on the order.
class RadixQuantiles {
 public:
  RadixQuantiles() : upper_(kBins) {}

  void count(std::span<const float> values);
  [[nodiscard]] std::uint64_t num_values() const noexcept { return num_values_; }
  // Between the passes: which places the quantiles need. At least one value.
  void begin_second_pass(std::span<const double> quantiles);
  void count_again(std::span<const float> values);
  // After both, for one of the quantiles named: numpy's default, linear between the neighbours of
  // position q (N - 1).
  [[nodiscard]] double quantile(double q) const;

 private:
  static constexpr std::size_t kBins = 1U << 16U;
  struct Part {  // the values of one upper half
    std::uint32_t upper = 0;
    std::uint64_t before = 0;  // values below them
    std::vector<std::uint64_t> lower = std::vector<std::uint64_t>(kBins);
  };

  void add_part(std::uint64_t place);
  // The value at a place of the sorted list.
  [[nodiscard]] double at(std::uint64_t place) const;

  std::uint64_t num_values_ = 0;
  std::vector<std::uint64_t> upper_;
  std::vector<Part> parts_;  // ascending, each upper half once
};

}  // namespace wam
