#include "apps/wamtrain/commands.h"
#include "apps/wamtrain/load_on_ranks.h"
#include "apps/wamtrain/recipe.h"
#include "apps/wamtrain/runtime.h"
#include "parallel/launch/launch_env.h"

namespace wam {

int train_command(const RecipeArguments& arguments) {
  const LaunchEnv env = read_launch_env(process_environment());
  return run_training(load_on_ranks(arguments, env, [&] {
    return load_recipe_for_training(arguments.recipe, arguments.overrides, env.local_world_size);
  }));
}

}  // namespace wam
