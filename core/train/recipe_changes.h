#pragma once

#include <string>
#include <vector>

namespace wam {

// What differs between two recipes, each as a resolved recipe is written (RecipeWriter: one value a
// line, sections by indentation, items of lists behind a dash): one text a value,
// "train.steps: 40 -> 80", in the order of the recipe; "none" stands for a value that one of them
// lacks. Empty when they say the same.
std::vector<std::string> recipe_changes(const std::string& before, const std::string& after);

}  // namespace wam
