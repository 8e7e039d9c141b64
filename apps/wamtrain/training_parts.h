#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <c10/core/Device.h>

#include "apps/wamtrain/recipe.h"
#include "core/train/loop.h"
#include "core/train/optimizer.h"
#include "core/train/sharding.h"
#include "data/dataset/window_dataset.h"
#include "data/loader/guarded_dataset.h"
#include "data/loader/loader.h"
#include "models/wam/frozen_encoders.h"
#include "models/wam/wam_model.h"
#include "parallel/collectives/axis.h"
#include "parallel/launch/launch_env.h"
#include "parallel/strategies/layout.h"

// Parts of a training run on a device, as the recipe asks for them: what training runs is what
// benchmarks time.

namespace wam {

// `encoders` and `clock` must outlive the model, and so must `observer` of its graphs, which may be
// null.
std::unique_ptr<WamModel> make_model(const ResolvedRecipe& recipe,
                                     c10::Device device,
                                     FrozenEncoders& encoders,
                                     StepClock& clock,
                                     GraphObserver* observer = nullptr);
// `layout` and `axes` of the recipe's strategy on the ranks of this run.
std::unique_ptr<Sharding> make_sharding(const ResolvedRecipe& recipe,
                                        c10::Device device,
                                        const std::vector<UnitSpec>& units,
                                        const Layout& layout,
                                        const MeshAxes& axes);
// `units` must outlive the optimizer, and their buffers stay where they are.
std::unique_ptr<AdamW> make_optimizer(const ResolvedRecipe& recipe,
                                      c10::Device device,
                                      Sharding& units,
                                      GraphObserver* observer = nullptr);
// This rank's part of the stream, from the sample of that ordinal on.
LoaderOptions loader_options(const ResolvedRecipe& recipe,
                             c10::Device device,
                             std::uint64_t first_sample,
                             const LaunchEnv& env);
// What becomes of bad samples of a split of these members.
BadSampleRule bad_sample_rule(const ResolvedRecipe& recipe, const WindowDataset& split);
// How a mixture of datasets is drawn from.
MixtureDraw mixture_draw(const ResolvedRecipe& recipe);
LoopOptions loop_options(const ResolvedRecipe& recipe, c10::Device device, const LaunchEnv& env);
// The settings to try where a run waits for other ranks.
std::string communication_advice(const ParallelSection& parallel, const LaunchEnv& env);

}  // namespace wam
