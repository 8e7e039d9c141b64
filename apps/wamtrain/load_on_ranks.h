#pragma once

#include <functional>

#include "apps/wamtrain/commands.h"
#include "apps/wamtrain/recipe.h"
#include "parallel/launch/launch_env.h"

namespace wam {

// What `load` returns. Where it fails, and there are several ranks, they meet for the error's sake:
// what all of them found is said by one, and what one alone found ends the others, too.
//
// They meet where the run would have, and otherwise, when all are on one host, in the folder of
// temporary files. Where neither is possible, or the others do not come within half a minute, each
// says what it found. Errors: those of `load`; AlreadyTold where they met. A file system that does
// not answer within run.timeout_s ends the process with an error that names the file.
ResolvedRecipe load_on_ranks(const RecipeArguments& arguments,
                             const LaunchEnv& env,
                             const std::function<ResolvedRecipe()>& load);

}  // namespace wam
