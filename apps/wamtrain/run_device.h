#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include "apps/wamtrain/recipe.h"
#include "parallel/launch/launch_env.h"

namespace wam {

// The recipe's words as LibTorch and the model take them. Asking for a GPU initialises CUDA; the
// ranks of a host take one each. Errors: DeviceError where there is none for this rank; ConfigError
// where the recipe transforms pictures on a GPU and the run would be on the CPU.
c10::Device resolve_device(const ResolvedRecipe& recipe, const LaunchEnv& env);
c10::ScalarType compute_type(const ResolvedRecipe& recipe);
// Of master weights, moments and gradients.
c10::ScalarType state_type(const ResolvedRecipe& recipe);
// In which gradients travel.
c10::ScalarType reduce_type(const ResolvedRecipe& recipe);
// Whether steps are replayed as CUDA graphs. Errors: ConfigError where the device has none.
bool uses_graphs(const ResolvedRecipe& recipe, c10::Device device);
// Whether master weights and moments lie in host memory.
bool offloads_state(const ResolvedRecipe& recipe);

}  // namespace wam
