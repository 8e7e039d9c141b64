#include "core/report/axis.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

namespace wam {
namespace {

// 1, 2 or 5 times a power of ten, not below `rough`.
double round_step(double rough) {
  const double decade = std::pow(10.0, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * decade >= rough * (1 - 1e-9)) return factor * decade;
  }
  return 10 * decade;
}

std::vector<double> decade_ticks(double low, double high) {
  const bool few = std::log10(high / low) < 2.5;
  std::vector<double> out;
  for (double decade = std::pow(10.0, std::floor(std::log10(low))); decade <= high; decade *= 10) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double value = factor * decade;
      if ((few || factor == 1.0) && value >= low && value <= high) out.push_back(value);
    }
  }
  return out;
}

std::vector<double> even_ticks(double low, double high, double step) {
  std::vector<double> out;
  for (double k = std::ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; ++k) {
    out.push_back(k * step);
  }
  return out;
}

}  // namespace

Axis::Axis(double low, double high, double first_pixel, double last_pixel, bool logarithmic)
    : low_(low),
      high_(high),
      first_pixel_(first_pixel),
      last_pixel_(last_pixel),
      logarithmic_(logarithmic) {}

double Axis::pixel(double value) const {
  const double share = logarithmic_ ? std::log(value / low_) / std::log(high_ / low_)
                                    : (value - low_) / (high_ - low_);
  return first_pixel_ + share * (last_pixel_ - first_pixel_);
}

std::vector<double> Axis::ticks(int wanted) const {
  constexpr std::size_t kFewest = 3;
  if (logarithmic_) {
    std::vector<double> decades = decade_ticks(low_, high_);
    if (decades.size() >= kFewest) return decades;
  }
  std::vector<double> out = even_ticks(low_, high_, round_step((high_ - low_) / wanted));
  if (out.size() >= kFewest) return out;
  return even_ticks(low_, high_, round_step((high_ - low_) / (2 * wanted)));
}

void Range::include(double value) {
  if (!std::isfinite(value)) return;
  low = empty ? value : std::min(low, value);
  high = empty ? value : std::max(high, value);
  empty = false;
}

void Range::include(const std::vector<double>& values) {
  for (const double value : values) include(value);
}

Range Range::padded() const {
  if (empty) return {.low = 0, .high = 1, .empty = false};
  const double size = high > low ? high - low : std::max(std::abs(high), 1e-6) * 0.2;
  return {.low = low - size / 20, .high = high + size / 20, .empty = false};
}

std::string tick_label(double value) {
  const double size = std::abs(value);
  if (size < 1e-12) return "0";
  if (size >= 1e6) return fmt::format("{:.4g}M", value / 1e6);
  if (size >= 1e4) return fmt::format("{:.4g}k", value / 1e3);
  return fmt::format("{:.4g}", value);
}

}  // namespace wam
