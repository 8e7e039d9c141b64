#pragma once

#include "apps/wamtrain/recipe.h"

namespace wam {

// Builds the parts of a run (device, datasets, model, optimizer, checkpoints), connects them and
// trains until the end or a stop request. The recipe has been checked.
// Returns the exit code.
int run_training(const ResolvedRecipe& recipe);

}  // namespace wam
