#include <array>
#include <utility>
#include <vector>

#include <ATen/ops/zeros.h>

#include "core/random/counter.h"
#include "data/dataset/window_dataset_impl.h"

namespace wam {

std::int64_t WindowDataset::augmentations() const {
  return common_->options.augmentations;
}

std::int64_t WindowDataset::episode_number(std::size_t member, std::int64_t episode_idx) const {
  return common_->members.at(member).reader().episode_number(episode_idx);
}

std::string WindowDataset::name(std::size_t member) const {
  const DatasetMember& source = common_->members.at(member).source;
  return source.reader->meta().name() + "_" + source.embodiment.tag;
}

std::size_t WindowDataset::num_members() const {
  return common_->members.size();
}

RawClip WindowDataset::blank(std::size_t member_idx, std::int64_t frames) const {
  const auto& member = common_->members.at(member_idx);
  const ClipPlan& plan = *member.plan;
  RawClip raw = no_pictures(member_idx);
  raw.draws = centre_clip(member.geometry);
  for (std::int64_t view = 0; view < plan.num_views; ++view) {
    raw.view_THWC.push_back(at::zeros({frames, plan.in_height, plan.in_width, 3}, at::kByte));
  }
  return raw;
}

ClipTable WindowDataset::clips(std::size_t member_idx) const {
  const auto& member = common_->members.at(member_idx);
  std::vector<StartFrames> starts;
  for (const EpisodeScan& episode : member.scan.episodes) starts.push_back(episode.starts);
  std::int64_t labelled = -1;
  std::vector<std::int64_t> labels;
  return {std::move(starts), [&](std::int64_t episode_idx, std::int64_t start) {
            if (episode_idx != labelled) labels = labels_of(member.episode(episode_idx).facts);
            labelled = episode_idx;
            return window_at(labels, start, member.rule).value().video;
          }};
}

SampleDraws WindowDataset::draws_of(std::size_t member,
                                    const ClipTable::Clip& clip,
                                    std::int64_t augmentation) const {
  return {clip.episode_idx, clip.start, augmentation,
          fixed_draws(member, clip.episode_idx, clip.start, augmentation), 0};
}

// The same for all starts that show the same clip.
ClipDraws WindowDataset::fixed_draws(std::size_t member_idx,
                                     std::int64_t episode_idx,
                                     std::int64_t start,
                                     std::int64_t augmentation) const {
  const auto& member = common_->members[member_idx];
  if (augmentation == 0) return centre_clip(member.geometry);
  const Window window = window_of(member_idx, {episode_idx, start, 0, {}, 0});
  const std::array<std::int64_t, 3> key = {member.reader().episode_number(episode_idx),
                                           window.video.front(), augmentation};
  const std::uint64_t ordinal = fnv1a64(reinterpret_cast<const char*>(key.data()), sizeof key);
  return draw_clip(member.geometry, member.source.embodiment.jitter,
                   CounterStream(common_->options.seed, Purpose::kFixedAugmentation, ordinal));
}

}  // namespace wam
