#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/train/dataset.h"
#include "data/dataset/window_dataset.h"
#include "data/latent_cache/latent_cache.h"

namespace wam {

// The clips of one dataset with the cache that holds their latents.
struct CachedClips {
  ClipTable clips;
  LatentCache latents;
};

// The windows of a split with cached latents in the place of pictures. Samples, draws, prompts and
// fingerprint are those of the windows; no video is opened.
// Errors of `load`: those of the tables, and of LatentShard::item.
class CachedWindows : public Dataset {
 public:
  // `caches`: of each member of `windows`, with their number of augmentations.
  CachedWindows(std::shared_ptr<const WindowDataset> windows,
                std::vector<std::shared_ptr<const CachedClips>> caches);

  [[nodiscard]] std::uint64_t size() const override { return windows_->size(); }
  [[nodiscard]] SampleId identify(std::uint64_t window_idx) const override {
    return windows_->identify(window_idx);
  }
  [[nodiscard]] Sample load(std::uint64_t window_idx,
                            std::uint64_t ordinal,
                            Transforms transforms) const override;
  [[nodiscard]] std::vector<std::string> prompts() const override { return windows_->prompts(); }
  [[nodiscard]] std::string fingerprint() const override { return windows_->fingerprint(); }
  [[nodiscard]] ActionMeaning action_meaning(std::int32_t dataset) const override {
    return windows_->action_meaning(dataset);
  }
  [[nodiscard]] at::Tensor physical_actions(std::int32_t dataset,
                                            const at::Tensor& action_PA) const override {
    return windows_->physical_actions(dataset, action_PA);
  }

 private:
  std::shared_ptr<const WindowDataset> windows_;
  std::vector<std::shared_ptr<const CachedClips>> caches_;
};

}  // namespace wam
