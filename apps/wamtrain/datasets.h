#pragma once

#include <map>
#include <string>
#include <vector>

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
// take them; without statistics. Their indices are used where they are there, and none is written.
// Errors: DataError, ConfigError as the parts give them.
WindowDatasetOptions dataset_options(const ResolvedRecipe& recipe);

// Statistics as data.statistics says; `saved` are those of the checkpoint that the run goes on
// from, taken where the recipe would compute them. Keeps the indices of the datasets, and writes
// nothing else. Errors: as dataset_options.
OpenedData open_data(const ResolvedRecipe& recipe,
                     const std::map<std::string, Statistics>& saved,
                     Log& log);

// Every prompt of both splits, each once.
std::vector<std::string> all_prompts(const DatasetSplits& splits);

// The same datasets for their pictures and prompts alone: no statistics are read or computed.
// Errors: as dataset_options.
DatasetSplits open_pictures(const ResolvedRecipe& recipe, Log& log);

}  // namespace wam
