#pragma once

#include <vector>

#include "apps/wamtrain/recipe.h"
#include "core/base/log.h"
#include "core/train/model.h"
#include "core/train/unit.h"

namespace wam {

// Fills the masters of a fresh run as model.init and model.components.dit say: random, a DreamZero
// folder (strict), or a Wan base whose missing tensors are initialised and listed.
// Errors: DataError when the source does not hold what this model needs.
void fill_initial_weights(const ResolvedRecipe& recipe,
                          const Model& model,
                          std::vector<Unit>& units,
                          Log& log);

}  // namespace wam
