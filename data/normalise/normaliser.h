#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/embodiment/embodiment.h"
#include "data/normalise/statistics.h"

namespace wam {

// Brings one key's float32 values into the model's range, dimension by dimension:
//   q99       2 (x - q01) / (q99 - q01) - 1, clamped to [-1, 1]
//             x itself, clamped, where q01 == q99
//   min_max   2 (x - min) / (max - min) - 1, clamped; 0 where min == max
//   mean_std  (x - mean) / std; x itself where std == 0
// in this order of float32 operations, on statistics rounded to float32, so that results equal the
// reference's bit for bit.
//
// Source: DreamZero @ ab790c1, its state and action normalisers, as RLinf @ a3816b5 feeds them.
class Normaliser {
 public:
  Normaliser(Normalisation mode, const KeyStatistics& statistics);

  [[nodiscard]] std::int64_t width() const noexcept {
    return static_cast<std::int64_t>(low_.size());
  }
  // One row: `in` and `out` hold width() values and may be the same.
  void forward(const float* in, float* out) const;
  // Back to physical values, in float64 and with the unrounded statistics; a dimension without
  // range gives its constant.
  void inverse(const double* in, double* out) const;

 private:
  Normalisation mode_;
  std::vector<double> exact_low_;   // q01, min or mean
  std::vector<double> exact_span_;  // q99 - q01, max - min or std
  std::vector<float> low_;
  std::vector<float> span_;  // 0: no range
};

// The state or the action vector of the model: an embodiment's keys side by side.
class VectorNormaliser {
 public:
  // Errors: DataError naming the keys that the statistics lack (all at once, nearest names), and
  // relative keys whose statistics say that they are absolute, or the other way round.
  static VectorNormaliser of_state(const Embodiment& embodiment, const Statistics& statistics);
  static VectorNormaliser of_action(const Embodiment& embodiment, const Statistics& statistics);

  [[nodiscard]] std::int64_t width() const noexcept { return width_; }
  [[nodiscard]] const std::vector<Normaliser>& parts() const noexcept { return parts_; }
  // "joint_position[3]", one per dimension.
  [[nodiscard]] std::vector<std::string> names() const;

  void forward(const float* in, float* out) const;
  void inverse(const double* in, double* out) const;

 private:
  std::vector<std::string> keys_;
  std::vector<Normaliser> parts_;
  std::int64_t width_ = 0;
};

// Whether statistics that do not say so are plainly those of the action itself: the action moves in
// the same range around the same mean as the state of the same key.
bool looks_absolute(const KeyStatistics& action, const KeyStatistics& state);

}  // namespace wam
