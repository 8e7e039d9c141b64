#include "apps/wamtrain/run_device.h"

#include "core/cuda/device.h"

namespace wam {

c10::Device resolve_device(const ResolvedRecipe& recipe) {
  const DeviceChoice choice = recipe.options.run.device;
  if (choice == DeviceChoice::kCpu) return c10::kCPU;
  if (choice == DeviceChoice::kAuto && !gpu_available()) return c10::kCPU;
  return {c10::kCUDA, 0};
}

c10::ScalarType compute_type(const ResolvedRecipe& recipe) {
  return recipe.options.precision.compute == ComputeType::kBf16 ? c10::kBFloat16 : c10::kFloat;
}

RecomputePolicy recompute_policy(const ResolvedRecipe& recipe) {
  return recipe.options.memory.recompute == RecomputeChoice::kFull ? RecomputePolicy::kFull
                                                                   : RecomputePolicy::kNone;
}

}  // namespace wam
