#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "data/dataset/start_frames.h"

namespace wam {

// The different clips that the windows of a dataset show. Starts near the ends of an episode have
// the same window as others (data/window), and so the same clip.
//
// Clips are numbered by their number of frames, longest first, then by episode and first start.
class ClipTable {
 public:
  struct Clip {
    std::int32_t episode_idx = 0;
    std::int32_t start = 0;   // the first that shows it
    std::int32_t frames = 0;  // pictures of a view
    bool operator==(const Clip&) const = default;
  };
  // The frames of the episode that a start's window shows.
  using FramesOf =
      std::function<std::vector<std::int64_t>(std::int64_t episode_idx, std::int64_t start)>;

  // `starts`: those of every episode that have a window.
  ClipTable(std::vector<StartFrames> starts, const FramesOf& frames_of);

  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(clips_.size()); }
  [[nodiscard]] std::int64_t num_starts() const {
    return static_cast<std::int64_t>(clip_of_.size());
  }
  [[nodiscard]] const Clip& at(std::int64_t clip) const {
    return clips_.at(static_cast<std::size_t>(clip));
  }
  // The number of the clip that a start shows. Errors: InvariantError for a start without a window.
  [[nodiscard]] std::int64_t find(std::int64_t episode_idx, std::int64_t start) const;

 private:
  void add_episode(std::int64_t episode_idx, const FramesOf& frames_of);
  void sort_by_length();

  std::vector<StartFrames> starts_;
  std::vector<std::size_t> first_;      // by episode: where its starts begin in clip_of_
  std::vector<std::uint32_t> clip_of_;  // by start
  std::vector<Clip> clips_;
};

}  // namespace wam
