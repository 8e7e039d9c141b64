#include "apps/wamtrain/clip_reader.h"

#include <utility>

#include <ATen/ops/zeros.h>

#include "core/base/data_errors.h"

namespace wam {

ClipReader::ClipReader(std::shared_ptr<const WindowDataset> windows,
                       std::size_t member,
                       std::shared_ptr<const ClipTable> clips,
                       std::vector<std::int64_t> items,
                       bool marks_bad)
    : windows_(std::move(windows)),
      member_(member),
      clips_(std::move(clips)),
      items_(std::move(items)),
      marks_bad_(marks_bad) {}

const ClipTable::Clip& ClipReader::clip_of(std::uint64_t window_idx) const {
  return clips_->at(items_.at(window_idx) / windows_->augmentations());
}

SampleId ClipReader::identify(std::uint64_t window_idx) const {
  const ClipTable::Clip& clip = clip_of(window_idx);
  return {static_cast<std::int32_t>(member_), windows_->episode_number(member_, clip.episode_idx),
          clip.start};
}

Sample ClipReader::load(std::uint64_t window_idx,
                        std::uint64_t ordinal,
                        Transforms /*transforms*/) const {
  const ClipTable::Clip& clip = clip_of(window_idx);
  const std::int64_t augmentation = items_.at(window_idx) % windows_->augmentations();
  Sample sample;
  sample.id = identify(window_idx);
  sample.ordinal = ordinal;
  sample.state_NS = sample.action_PA = at::zeros({1, 1}, at::kFloat);
  sample.action_mask_PA = at::zeros({1, 1}, at::kBool);
  try {
    sample.clip = windows_->recorded(member_, windows_->draws_of(member_, clip, augmentation));
  } catch (const ContentError& error) {
    if (!marks_bad_) throw;
    sample.clip = windows_->blank(member_, clip.frames);
    sample.replaced.push_back({ordinal, sample.id, error.what()});
  }
  return sample;
}

}  // namespace wam
