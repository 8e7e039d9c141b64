#pragma once

#include <cstdint>
#include <optional>

#include "core/recipe/problems.h"
#include "data/lerobot/episode_filter.h"
#include "data/recipe/recipe.h"

namespace wam {

// Which of a dataset's episodes a recipe uses.
EpisodeFilter episode_filter(const DatasetSection& dataset);

// Looks at what a recipe's datasets point to, cheaply: the folder and its meta/, the embodiment
// record, columns and picture sizes of the first episode, and whether the embodiments of a mixture
// make samples of one shape. Adds every fault to `problems`; Returns the actions of one block;
// nothing when no embodiment could be read.
std::optional<std::int64_t> check_datasets(const DataSection& data, Problems& problems);

}  // namespace wam
