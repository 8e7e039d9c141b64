#pragma once

#include <cmath>
#include <string>
#include <vector>

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

namespace wam::test {

// Where the golden files are computed. The tests are linked twice: with the CPU in double and
// float32 (golden_place_cpu.cpp), and with a GPU in float32 and bf16
// (test/kernel/golden/golden_place_gpu.cpp).
struct GoldenPlace {
  c10::Device device = c10::kCPU;
  c10::ScalarType type = c10::kDouble;

  [[nodiscard]] std::string text() const {
    return device.str() + " in " + std::string(c10::toString(type));
  }
};
// Empty, with a line that says so, without a GPU.
std::vector<GoldenPlace> golden_places();

// The error of `values` roundings to `type`, relative to the size of what is rounded: each is at
// most half a unit in the last place, their signs are random. Sums are in fp32: where `type` is
// fp32, every term of a sum rounds.
inline double rounding_error(c10::ScalarType type, double values) {
  return (type == c10::kBFloat16 ? 0x1p-8 : 0x1p-24) * std::sqrt(values);
}

}  // namespace wam::test
