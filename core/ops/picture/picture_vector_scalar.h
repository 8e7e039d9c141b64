#pragma once

// The scalar twin's "vectors", of one pixel (picture_loop.h).

#include <cstdint>

#include "core/ops/picture/picture_pixel.h"

namespace wam {
namespace {

struct Scalar {
  using Values = float;
  using Mask = bool;
  using Index = std::int32_t;
  static constexpr std::int64_t kWidth = 1;

  static Values set(float value) { return value; }
  static Values load(const float* from) { return *from; }
  static void store(float* to, Values x) { *to = x; }
  static Values mul(Values a, Values b) { return a * b; }
  static Values add(Values a, Values b) { return a + b; }
  static Values sub(Values a, Values b) { return a - b; }
  static Values fma(Values a, Values b, Values c) { return __builtin_fmaf(a, b, c); }
  static Values min(Values a, Values b) { return a < b ? a : b; }
  static Values max(Values a, Values b) { return a > b ? a : b; }
  static Values abs(Values a) { return __builtin_fabsf(a); }
  static Mask equal(Values a, Values b) { return a == b; }
  static Mask less(Values a, Values b) { return a < b; }
  static Values select(Mask mask, Values a, Values b) { return mask ? a : b; }

  static Index index(const std::int32_t* from, std::int32_t base) { return *from - base; }
  template <int kReach>
  static Values pick(const float* from, Index at) {
    return from[at];
  }
  static Pixel<Scalar> load_levels(const std::uint8_t* from) {
    return {static_cast<float>(from[0]), static_cast<float>(from[1]), static_cast<float>(from[2])};
  }
  static void store_levels(const Pixel<Scalar>& p, std::uint8_t* to) {
    to[0] = static_cast<std::uint8_t>(static_cast<std::int32_t>(p.r));
    to[1] = static_cast<std::uint8_t>(static_cast<std::int32_t>(p.g));
    to[2] = static_cast<std::uint8_t>(static_cast<std::int32_t>(p.b));
  }
  static void store_levels_twice(const Pixel<Scalar>& p, std::uint8_t* to) {
    store_levels(p, to);
    store_levels(p, to + 3);
  }
};

}  // namespace
}  // namespace wam
