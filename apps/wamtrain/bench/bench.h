#pragma once

#include <string>
#include <vector>

#include "apps/wamtrain/bench/options.h"
#include "apps/wamtrain/bench/result.h"
#include "apps/wamtrain/ranks.h"
#include "apps/wamtrain/recipe.h"
#include "core/base/log.h"

namespace wam {

// Prepares the device, connects the ranks of the recipe's strategy, measures what the card can do,
// and runs the benchmark of `options`. Fills the origin's card and ceilings. Errors: ConfigError
// for options that do not fit the recipe; what the parts throw.
BenchResult run_bench(const ResolvedRecipe& recipe,
                      const BenchOptions& options,
                      Ranks& ranks,
                      BenchOrigin& origin,
                      Log& log);

}  // namespace wam
