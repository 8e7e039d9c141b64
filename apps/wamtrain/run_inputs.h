#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apps/wamtrain/datasets.h"
#include "apps/wamtrain/ranks.h"
#include "apps/wamtrain/recipe.h"
#include "core/base/log.h"
#include "core/train/checkpoint_reader.h"
#include "core/train/manifest.h"

namespace wam {

// What a run reads before it allocates or writes anything.
struct RunInputs {
  std::unique_ptr<CheckpointReader> start;  // what it goes on from; null: a fresh start
  OpenedData data;
  std::vector<FrozenOrigin> frozen;
  std::string facts;  // what an export will need, for every checkpoint

  [[nodiscard]] const std::string& hash_of(const std::string& component) const;
};

// All ranks call it together. What is costly (verifying a checkpoint, computing statistics, hashing
// weights) the first does for all.
RunInputs read_inputs(const ResolvedRecipe& recipe, Ranks& ranks, Log& log);

// What a checkpoint of this run says of it, and what one must say for the run to go on from it.
// Errors: ConfigError naming every difference that matters.
ExpectedRun expected_run(const ResolvedRecipe& recipe,
                         const RunInputs& inputs,
                         c10::Device device,
                         int world_size);
void check_same_run(const RunState& saved, const ExpectedRun& expected, Log& log);

}  // namespace wam
