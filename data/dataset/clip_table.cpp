#include "data/dataset/clip_table.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "core/base/errors.h"

namespace wam {

ClipTable::ClipTable(std::vector<StartFrames> starts, const FramesOf& frames_of)
    : starts_(std::move(starts)) {
  for (std::size_t e = 0; e < starts_.size(); ++e) {
    first_.push_back(clip_of_.size());
    add_episode(static_cast<std::int64_t>(e), frames_of);
  }
  sort_by_length();
}

void ClipTable::add_episode(std::int64_t episode_idx, const FramesOf& frames_of) {
  std::map<std::vector<std::int64_t>, std::uint32_t> known;
  for (const auto start : starts_[static_cast<std::size_t>(episode_idx)].values()) {
    auto frames = frames_of(episode_idx, start);
    const auto count = static_cast<std::int32_t>(frames.size());
    const auto [place, is_new] =
        known.emplace(std::move(frames), static_cast<std::uint32_t>(clips_.size()));
    clip_of_.push_back(place->second);
    if (!is_new) continue;
    clips_.push_back(
        {static_cast<std::int32_t>(episode_idx), static_cast<std::int32_t>(start), count});
  }
}

void ClipTable::sort_by_length() {
  std::vector<std::uint32_t> order(clips_.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [this](std::uint32_t a, std::uint32_t b) {
    return clips_[a].frames > clips_[b].frames;
  });
  std::vector<Clip> sorted;
  std::vector<std::uint32_t> place(clips_.size());
  for (const auto clip : order) {
    place[clip] = static_cast<std::uint32_t>(sorted.size());
    sorted.push_back(clips_[clip]);
  }
  clips_ = std::move(sorted);
  for (auto& clip : clip_of_) clip = place[clip];
}

std::int64_t ClipTable::find(std::int64_t episode_idx, std::int64_t start) const {
  const auto e = static_cast<std::size_t>(episode_idx);
  invariant(e < starts_.size() && starts_[e].contains(start), "the clip of a start with a window");
  return clip_of_[first_[e] + starts_[e].before(start)];
}

}  // namespace wam
