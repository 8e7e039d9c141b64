#include <chrono>

#include "apps/wamtrain/commands.h"
#include "apps/wamtrain/datasets.h"
#include "apps/wamtrain/encoders.h"
#include "apps/wamtrain/exit_code.h"
#include "apps/wamtrain/latents_on_ranks.h"
#include "apps/wamtrain/load_on_ranks.h"
#include "apps/wamtrain/placement.h"
#include "apps/wamtrain/ranks.h"
#include "apps/wamtrain/read_limit.h"
#include "apps/wamtrain/recipe.h"
#include "apps/wamtrain/run_device.h"
#include "apps/wamtrain/texts_on_ranks.h"
#include "core/base/errors.h"
#include "core/base/format.h"
#include "core/base/log.h"
#include "core/base/read_watch.h"
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

void cache_latents(const ResolvedRecipe& recipe,
                   const FrozenPlacement& placement,
                   bool rebuilds,
                   Ranks& ranks,
                   Log& log) {
  const auto windows = open_pictures(recipe, log).training;
  const EncoderHashes hashes{.vae = weights_hash(vae_part(recipe), ranks),
                             .image_encoder = weights_hash(image_part(recipe), ranks)};
  encode_latents(recipe, windows, {.hashes = hashes, .placement = placement, .rebuilds = rebuilds},
                 ranks, log);
}

int cache_as_one(const CacheArguments& arguments, const ResolvedRecipe& recipe, Ranks& ranks) {
  Log log({.console = ranks.is_first(), .file = ""});
  const ReadWatch reads(
      {.limit = read_limit(recipe.options.run),
       .on_slow = [&](const std::string& line) { log.warn(line); },
       .on_stall = [&](const std::string& error) { ranks.end_now(DeviceError(error)); }});
  const c10::Device device = resolve_device(recipe, ranks.env());
  place_on_cores(recipe, ranks.env(), device, log);
  prepare_device({.device = device,
                  .cpu_threads = static_cast<int>(recipe.threads),
                  .deterministic = recipe.options.precision.deterministic});
  log.info("device: " + describe_device(device));
  const FrozenPlacement placement{.device = device, .type = compute_type(recipe)};
  if (arguments.what == CacheWhat::kText) {
    cache_texts(recipe, placement, ranks, log);
  } else {
    cache_latents(recipe, placement, arguments.rebuilds, ranks, log);
  }
  return kExitOk;
}

void check(const CacheArguments& arguments, const ResolvedRecipe& recipe) {
  const bool is_text = arguments.what == CacheWhat::kText;
  require<ConfigError>(
      !is_text || !arguments.rebuilds,
      "cache --rebuild: text embeddings are kept by encoder, tokenizer and text, and are never of "
      "something else. Fix: leave --rebuild out.");
  require<ConfigError>(
      is_text || recipe.options.data.augmentations > 0,
      "cache --what latents: data.augmentations is 0, so that pictures are cropped and jittered "
      "anew "
      "each time that they come, and no latent comes twice. Fix: data.augmentations: 1 (the centre "
      "crop, no jitter) or a few, such as 4, and data.latents: cached.");
}

}  // namespace

int cache_command(const CacheArguments& arguments) {
  const LaunchEnv env = read_launch_env(process_environment());
  const auto recipe = load_on_ranks(arguments.recipe, env, [&] {
    const auto& [file, overrides] = arguments.recipe;
    auto loaded = load_recipe_for_training(file, overrides, env.local_world_size);
    check(arguments, loaded);
    return loaded;
  });
  const RunSection& run = recipe.options.run;
  make_folders(run.dir);
  Ranks ranks(run.dir, std::chrono::milliseconds(static_cast<std::int64_t>(1000 * run.timeout_s)));
  return ranks.run([&] { return cache_as_one(arguments, recipe, ranks); });
}

}  // namespace wam
