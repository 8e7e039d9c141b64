#pragma once

#include <string>
#include <vector>

namespace wam {

// A range of values laid along pixels, linear or logarithmic.
class Axis {
 public:
  // `low` < `high`; both above 0 when logarithmic.
  Axis(double low, double high, double first_pixel, double last_pixel, bool logarithmic);

  [[nodiscard]] double pixel(double value) const;
  [[nodiscard]] double low() const noexcept { return low_; }
  [[nodiscard]] double high() const noexcept { return high_; }
  [[nodiscard]] bool logarithmic() const noexcept { return logarithmic_; }
  // Round values inside the range, about `wanted` of them.
  [[nodiscard]] std::vector<double> ticks(int wanted) const;

 private:
  double low_;
  double high_;
  double first_pixel_;
  double last_pixel_;
  bool logarithmic_;
};

// The smallest and largest finite value, widened to a range that can be drawn.
struct Range {
  double low = 0;
  double high = 0;
  bool empty = true;

  void include(double value);
  void include(const std::vector<double>& values);
  // With a margin of a twentieth at both ends; a range of one value gets some room.
  [[nodiscard]] Range padded() const;
};

// "0.25", "12k", "3.4M", "2e-05": short enough for an axis.
std::string tick_label(double value);

}  // namespace wam
