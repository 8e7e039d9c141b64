#include <chrono>

#include "apps/wamtrain/commands.h"
#include "apps/wamtrain/datasets.h"
#include "apps/wamtrain/encoders.h"
#include "apps/wamtrain/exit_code.h"
#include "apps/wamtrain/load_on_ranks.h"
#include "apps/wamtrain/placement.h"
#include "apps/wamtrain/ranks.h"
#include "apps/wamtrain/recipe.h"
#include "apps/wamtrain/run_device.h"
#include "apps/wamtrain/texts_on_ranks.h"
#include "core/base/errors.h"
#include "core/base/format.h"
#include "core/base/log.h"
#include "core/cuda/device.h"
#include "core/io/disk.h"
#include "core/io/hash.h"
#include "parallel/launch/launch_env.h"

namespace wam {
namespace {

// The hash of an encoder's weights, which the first rank alone reads them for.
std::string weights_hash(const FrozenPart& part, Ranks& ranks) {
  return ranks.from_first([&] { return hash_hex(frozen_fingerprint(part.model, part.source)); });
}

void cache_texts(const ResolvedRecipe& recipe,
                 const FrozenPlacement& placement,
                 Ranks& ranks,
                 Log& log) {
  const auto prompts = all_prompts(open_pictures(recipe, log));
  const Tokenizer tokenizer(recipe.options.model.components.tokenizer);
  const auto hash = weights_hash(text_part(recipe, tokenizer.vocabulary_size()), ranks);
  const auto texts = texts_on_ranks(recipe, prompts, hash, placement, ranks, log);
  log.info(fmt::format("text embeddings: {} prompts are in {}",
                       with_commas(static_cast<std::int64_t>(prompts.size())),
                       texts->folder().string()));
}

int cache_as_one(const ResolvedRecipe& recipe, Ranks& ranks) {
  Log log({.console = ranks.is_first(), .file = ""});
  const c10::Device device = resolve_device(recipe, ranks.env());
  place_on_cores(recipe, ranks.env(), device, log);
  prepare_device({.device = device,
                  .cpu_threads = static_cast<int>(recipe.threads),
                  .deterministic = recipe.options.precision.deterministic});
  log.info("device: " + describe_device(device));
  const FrozenPlacement placement{.device = device, .type = compute_type(recipe)};
  cache_texts(recipe, placement, ranks, log);
  return kExitOk;
}

}  // namespace

int cache_command(const CacheArguments& arguments) {
  const LaunchEnv env = read_launch_env(process_environment());
  const auto recipe = load_on_ranks(arguments.recipe, env, [&] {
    const auto& [file, overrides] = arguments.recipe;
    return load_recipe_for_training(file, overrides, env.local_world_size);
  });
  const RunSection& run = recipe.options.run;
  make_folders(run.dir);
  Ranks ranks(run.dir, std::chrono::milliseconds(static_cast<std::int64_t>(1000 * run.timeout_s)));
  return ranks.run([&] { return cache_as_one(recipe, ranks); });
}

}  // namespace wam
