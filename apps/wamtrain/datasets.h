#pragma once

#include <map>
#include <string>

#include "apps/wamtrain/recipe.h"
#include "core/base/log.h"
#include "data/dataset/window_dataset.h"
#include "data/normalise/statistics.h"

namespace wam {

// The datasets of a recipe, opened, with the statistics that normalise them by embodiment tag.
struct OpenedData {
  DatasetSplits splits;
  std::map<std::string, Statistics> statistics;
};

// Where computed statistics are kept for a run and for its exports.
std::filesystem::path statistics_file(const ResolvedRecipe& recipe);

// The datasets of a recipe with their readers, embodiments and columns, as the dataset and `plan`
// take them; without statistics. Errors: DataError, ConfigError as the parts give them.
WindowDatasetOptions dataset_options(const ResolvedRecipe& recipe);

// Statistics as data.statistics says; `saved` are those of the checkpoint that the run goes on
// from, taken where the recipe would compute them. Writes nothing. Errors: as dataset_options.
OpenedData open_data(const ResolvedRecipe& recipe,
                     const std::map<std::string, Statistics>& saved,
                     Log& log);

}  // namespace wam
