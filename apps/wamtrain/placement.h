#pragma once

#include <c10/core/Device.h>

#include "apps/wamtrain/recipe.h"
#include "core/base/log.h"
#include "parallel/launch/launch_env.h"

namespace wam {

// Keeps this rank to its part of the host's cores (run.pin), says which cores it has, and warns
// where the launcher left too few. Before the run starts its threads. Errors: DeviceError.
void place_on_cores(const ResolvedRecipe& recipe,
                    const LaunchEnv& env,
                    c10::Device device,
                    Log& log);

}  // namespace wam
