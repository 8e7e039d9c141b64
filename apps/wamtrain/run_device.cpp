#include "apps/wamtrain/run_device.h"

#include "core/base/errors.h"
#include "core/cuda/device.h"

namespace wam {

c10::Device resolve_device(const ResolvedRecipe& recipe) {
  switch (recipe.options.run.device) {
    case DeviceChoice::kCpu:
      return c10::kCPU;
    case DeviceChoice::kCuda:
      return {c10::kCUDA, 0};
    case DeviceChoice::kAuto:
      return gpu_available() ? c10::Device(c10::kCUDA, 0) : c10::Device(c10::kCPU);
  }
  throw InvariantError("an unknown run.device");
}

c10::ScalarType compute_type(const ResolvedRecipe& recipe) {
  switch (recipe.options.precision.compute) {
    case ComputeType::kBf16:
      return c10::kBFloat16;
    case ComputeType::kFp32:
      return c10::kFloat;
  }
  throw InvariantError("an unknown precision.compute");
}

RecomputePolicy recompute_policy(const ResolvedRecipe& recipe) {
  switch (recipe.options.memory.recompute) {
    case RecomputeChoice::kNone:
      return RecomputePolicy::kNone;
    case RecomputeChoice::kFull:
      return RecomputePolicy::kFull;
  }
  throw InvariantError("an unknown memory.recompute");
}

}  // namespace wam
