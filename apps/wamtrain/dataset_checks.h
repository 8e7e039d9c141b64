#pragma once

#include "core/recipe/problems.h"
#include "data/recipe/recipe.h"

namespace wam {

// Looks at what a recipe's datasets point to, cheaply: the folder and its meta/, the embodiment
// record, and the columns of the first episode's table. Adds every fault to `problems`; decodes
// nothing.
void check_datasets(const DataSection& data, Problems& problems);

}  // namespace wam
