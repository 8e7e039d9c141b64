#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include "apps/wamtrain/recipe.h"
#include "models/wam/block.h"

namespace wam {

// The recipe's words as LibTorch and the model take them. Asking for a GPU initialises CUDA.
c10::Device resolve_device(const ResolvedRecipe& recipe);
c10::ScalarType compute_type(const ResolvedRecipe& recipe);
RecomputePolicy recompute_policy(const ResolvedRecipe& recipe);

}  // namespace wam
