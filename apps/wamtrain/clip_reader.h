#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/train/dataset.h"
#include "data/dataset/window_dataset.h"

namespace wam {

// The clips of a dataset as windows: pictures to encode, without vectors and text.
class ClipReader : public Dataset {
 public:
  // `items`: of each window, clip * augmentations + augmentation. With `marks_bad` bad content
  // gives black pictures, and Sample::replaced says why; else it is an error.
  ClipReader(std::shared_ptr<const WindowDataset> windows,
             std::size_t member,
             std::shared_ptr<const ClipTable> clips,
             std::vector<std::int64_t> items,
             bool marks_bad);

  [[nodiscard]] std::uint64_t size() const override { return items_.size(); }
  [[nodiscard]] SampleId identify(std::uint64_t window_idx) const override;
  [[nodiscard]] Sample load(std::uint64_t window_idx,
                            std::uint64_t ordinal,
                            Transforms transforms) const override;
  [[nodiscard]] std::vector<std::string> prompts() const override { return {""}; }
  [[nodiscard]] std::string fingerprint() const override { return windows_->fingerprint(); }
  [[nodiscard]] ActionMeaning action_meaning(std::int32_t /*dataset*/) const override { return {}; }
  [[nodiscard]] at::Tensor physical_actions(std::int32_t /*dataset*/,
                                            const at::Tensor& action_PA) const override {
    return action_PA;
  }

 private:
  [[nodiscard]] const ClipTable::Clip& clip_of(std::uint64_t window_idx) const;

  std::shared_ptr<const WindowDataset> windows_;
  std::size_t member_;
  std::shared_ptr<const ClipTable> clips_;
  std::vector<std::int64_t> items_;
  bool marks_bad_;
};

}  // namespace wam
