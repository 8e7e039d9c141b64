#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include "apps/wamtrain/bench/ceilings.h"
#include "apps/wamtrain/bench/options.h"
#include "apps/wamtrain/bench/result.h"
#include "apps/wamtrain/bench/timeline.h"
#include "apps/wamtrain/bench/units.h"
#include "apps/wamtrain/latents.h"
#include "apps/wamtrain/ranks.h"
#include "apps/wamtrain/recipe.h"
#include "core/base/log.h"

namespace wam {

// What every benchmark gets.
struct BenchContext {
  const ResolvedRecipe& recipe;
  const BenchOptions& options;
  c10::Device device;
  c10::ScalarType type;
  std::optional<Ceilings> ceilings;
  Ranks& ranks;
  // Of the recipe's strategy on these ranks, or of those that are assumed.
  BenchMesh mesh;
  Log& log;

  [[nodiscard]] std::int64_t text_rows() const {
    return options.text_rows.value_or(recipe.model.config.text_length);
  }
  // Whether whole steps encode pictures.
  [[nodiscard]] bool encodes() const { return options.with_encoders && !caches_latents(recipe); }
  // Units as the recipe wants them, on the context's mesh or another.
  [[nodiscard]] BenchUnits units(HoldsState state, const BenchMesh& on) const;
};

// Preset, micro-batch, recompute policy, compute type, ...: what a model's speed depends on.
std::vector<std::pair<std::string, std::string>> model_settings(const BenchContext& context);

// Classes of kernels as phases of a step, and what of it no kernel fills. Kernels by name where the
// options ask for a trace. A note instead, where the profiler saw nothing.
void add_timeline(BenchResult& result,
                  const BenchContext& context,
                  const Timeline& timeline,
                  std::int64_t steps);

}  // namespace wam
