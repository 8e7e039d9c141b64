#include "apps/wamtrain/run_device.h"

#include <algorithm>

#include "core/base/errors.h"
#include "core/cuda/device.h"
#include "parallel/launch/placement.h"

namespace wam {

namespace {

c10::Device gpu_of(const LaunchEnv& env) {
  // Without any the first use says why.
  const std::size_t visible = std::max<std::size_t>(1, gpu_bus_ids().size());
  const int index = gpu_of_rank(visible, env.local_rank, env.local_world_size);
  return {c10::kCUDA, static_cast<c10::DeviceIndex>(index)};
}

}  // namespace

c10::Device resolve_device(const ResolvedRecipe& recipe, const LaunchEnv& env) {
  switch (recipe.options.run.device) {
    case DeviceChoice::kCpu:
      return c10::kCPU;
    case DeviceChoice::kCuda:
      return gpu_of(env);
    case DeviceChoice::kAuto:
      if (gpu_available()) return gpu_of(env);
      require<ConfigError>(recipe.options.data.transform_on == TransformOn::kCpu,
                           "data.transform_on: gpu, but no GPU answers and run.device: auto puts "
                           "the run on the CPU. Fix: set data.transform_on to cpu.");
      return c10::kCPU;
  }
  throw InvariantError("an unknown run.device");
}

c10::ScalarType compute_type(const ResolvedRecipe& recipe) {
  switch (recipe.options.precision.compute) {
    case ComputeType::kBf16:
      return c10::kBFloat16;
    case ComputeType::kFp32:
      return c10::kFloat;
    case ComputeType::kFp64:
      return c10::kDouble;
  }
  throw InvariantError("an unknown precision.compute");
}

c10::ScalarType state_type(const ResolvedRecipe& recipe) {
  return recipe.options.precision.compute == ComputeType::kFp64 ? c10::kDouble : c10::kFloat;
}

c10::ScalarType reduce_type(const ResolvedRecipe& recipe) {
  return recipe.options.parallel.reduce_dtype == ReduceType::kBf16 ? c10::kBFloat16
                                                                   : state_type(recipe);
}

bool uses_graphs(const ResolvedRecipe& recipe, c10::Device device) {
  require<ConfigError>(recipe.options.run.graphs != GraphChoice::kOn || device.is_cuda(),
                       "run.graphs: on, but the run is on the CPU, which has no CUDA graphs. Fix: "
                       "leave it at auto.");
  return device.is_cuda() && recipe.options.run.graphs != GraphChoice::kOff;
}

bool offloads_state(const ResolvedRecipe& recipe) {
  return recipe.options.parallel.offload != Offload::kNone;
}

}  // namespace wam
