#include "data/latent_cache/cached_windows.h"

#include <utility>

#include "core/base/errors.h"

namespace wam {

CachedWindows::CachedWindows(std::shared_ptr<const WindowDataset> windows,
                             std::vector<std::shared_ptr<const CachedClips>> caches)
    : windows_(std::move(windows)), caches_(std::move(caches)) {
  invariant(caches_.size() == windows_->num_members(), "a cache for each dataset");
  for (const auto& cache : caches_) {
    invariant(cache->latents.augmentations() == windows_->augmentations(),
              "as many augmentations in the cache as are drawn");
  }
}

Sample CachedWindows::load(std::uint64_t window_idx,
                           std::uint64_t ordinal,
                           Transforms transforms) const {
  const auto member = static_cast<std::size_t>(windows_->identify(window_idx).dataset);
  const SampleDraws draws = windows_->draw(window_idx, ordinal, transforms);
  const CachedClips& cache = *caches_[member];
  const std::int64_t clip = cache.clips.find(draws.episode_idx, draws.start);
  // First, as pictures are read before vectors: of several faults the same one is said.
  EncodedPictures pictures =
      cache.latents.item(clip * windows_->augmentations() + draws.augmentation);
  Sample sample = windows_->make_vectors(member, draws);
  sample.ordinal = ordinal;
  sample.encoded = std::move(pictures);
  return sample;
}

}  // namespace wam
