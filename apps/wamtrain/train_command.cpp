#include "apps/wamtrain/commands.h"
#include "apps/wamtrain/recipe.h"
#include "apps/wamtrain/runtime.h"

namespace wam {

int train_command(const RecipeArguments& arguments) {
  return run_training(load_recipe_for_training(arguments.recipe, arguments.overrides));
}

}  // namespace wam
