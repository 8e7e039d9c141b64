#pragma once

#include <map>
#include <string>

#include "apps/wamtrain/bench/context.h"
#include "apps/wamtrain/bench/result.h"
#include "data/normalise/statistics.h"

namespace wam {

// How long the recipe's datasets take to open when their indices are there: metadata, columns,
// first pictures, windows; without statistics, which a run computes once.
Figure measure_opening(const BenchContext& context,
                       const std::map<std::string, Statistics>& statistics);

}  // namespace wam
