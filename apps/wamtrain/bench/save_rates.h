#pragma once

#include <filesystem>

#include "apps/wamtrain/bench/options.h"
#include "apps/wamtrain/bench/result.h"
#include "apps/wamtrain/recipe.h"

namespace wam {

// Puts what a benchmark of the model, the encoders, the optimizer or the links of a node found, and
// the card's own rates where they were measured, into the rates file of the card, which is made
// where there is none. Returns its path. Errors: ConfigError when the file is another card's.
std::filesystem::path save_rates(const ResolvedRecipe& recipe,
                                 const BenchOptions& options,
                                 const BenchResult& result,
                                 const BenchOrigin& origin);

}  // namespace wam
