#pragma once

#include <optional>

#include <c10/core/Device.h>

namespace wam {

// What the card itself can do, measured in the run whose numbers are compared with it.
struct Ceilings {
  double matmul_tflops = 0;  // bf16 matrix product M 8000, N 14336, K 3072, random values
  double copy_tb_s = 0;      // of device memory, bytes read and written
};

// Runs matrix products for `seconds`, then copies for a tenth of it (at most one second). Rates are
// those of the whole time. On the CPU the sizes are small.
Ceilings measure_ceilings(c10::Device device, double seconds);

// `value` of the ceiling; empty where none was measured.
inline std::optional<double> share_of(double value,
                                      const std::optional<Ceilings>& ceilings,
                                      double Ceilings::*which) {
  if (!ceilings || (*ceilings).*which <= 0) return std::nullopt;
  return value / (*ceilings).*which;
}

}  // namespace wam
