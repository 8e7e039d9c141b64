#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

// One function a subcommand, each in a file of its own. They return the exit code of a run that did
// what was asked (0, or 1 where the answer is no) and throw what exit_code.h maps otherwise.

namespace wam {

struct RecipeArguments {
  std::filesystem::path recipe;
  std::vector<std::string> overrides;  // "path.to.key=value"
};

enum class OutputFormat { kText, kJson };

// Trains until train.steps or a stop request.
int train_command(const RecipeArguments& arguments);
// Prints what a run would be and need. Allocates no tensor, touches no GPU.
int plan_command(const RecipeArguments& arguments, OutputFormat format);

}  // namespace wam
