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

enum class RunStart { kFresh, kResumed };

// Statistics as data.statistics says: computed ones are written to statistics_file, and a resumed
// run takes them from there. Errors: DataError, ConfigError as the parts give them.
OpenedData open_data(const ResolvedRecipe& recipe, RunStart start, Log& log);

}  // namespace wam
