#include <cstdio>

#include "core/cuda/device.h"
#include "test/golden/golden_place.h"

namespace wam::test {

std::vector<GoldenPlace> golden_places() {
  if (!gpu_available()) {
    std::puts("SKIPPED: no GPU");
    return {};
  }
  const c10::Device gpu(c10::kCUDA, 0);
  prepare_device({.device = gpu});  // as a run does: fp32 is fp32, not TF32
  return {{gpu, c10::kFloat}, {gpu, c10::kBFloat16}};
}

}  // namespace wam::test
