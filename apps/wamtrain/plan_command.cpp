#include <cstdio>

#include <nlohmann/json.hpp>

#include "apps/wamtrain/commands.h"
#include "apps/wamtrain/exit_code.h"
#include "apps/wamtrain/recipe.h"

namespace wam {

int plan_command(const RecipeArguments& arguments, OutputFormat format) {
  const auto recipe = load_recipe_for_training(arguments.recipe, arguments.overrides);
  if (format == OutputFormat::kJson) {
    const nlohmann::ordered_json out{{"recipe", recipe.dump()}, {"recipe_hash", recipe.hash()}};
    fmt::print("{}\n", out.dump(2));
    return kExitOk;
  }
  fmt::print("{}\nrecipe hash {}\n", recipe.dump(), recipe.hash());
  return kExitOk;
}

}  // namespace wam
