#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apps/wamtrain/recipe.h"
#include "core/base/log.h"
#include "core/train/dataset.h"
#include "data/dataset/window_dataset.h"
#include "data/latent_cache/cached_windows.h"
#include "data/latent_cache/latent_cache.h"
#include "models/frozen/frozen_weights.h"

namespace wam {

// frozen_fingerprint of the encoders that make latents, in hex.
struct EncoderHashes {
  std::string vae;
  std::string image_encoder;
};

// Whether the run takes its latents from a cache, and needs neither VAE nor image encoder.
bool caches_latents(const ResolvedRecipe& recipe);

// The cache that the recipe means for a member of its datasets. `placement`: of the encoders.
LatentCacheOptions latent_cache_of(const ResolvedRecipe& recipe,
                                   const WindowDataset& windows,
                                   std::size_t member,
                                   const ClipTable& clips,
                                   const EncoderHashes& hashes,
                                   const FrozenPlacement& placement);

using LatentCaches = std::vector<std::shared_ptr<const CachedClips>>;

// The caches of all datasets, for training; none where latents are encoded live. Errors: as
// LatentCache.
LatentCaches open_latents(const ResolvedRecipe& recipe,
                          const WindowDataset& windows,
                          const EncoderHashes& hashes,
                          const FrozenPlacement& placement,
                          Log& log);

// The same, and reads the encoders' weights for their hashes.
LatentCaches open_latents(const ResolvedRecipe& recipe,
                          const WindowDataset& windows,
                          const FrozenPlacement& placement,
                          Log& log);

// The windows of a split as they are trained on: with cached latents, where there are caches.
std::shared_ptr<const Dataset> with_latents(const std::shared_ptr<const WindowDataset>& windows,
                                            const LatentCaches& caches);

}  // namespace wam
