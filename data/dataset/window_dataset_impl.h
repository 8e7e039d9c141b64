#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset/scan.h"
#include "data/dataset/window_dataset.h"
#include "data/normalise/normaliser.h"
#include "data/transform/clip_plan.h"

// The insides of WindowDataset, shared by the files of data/dataset.

namespace wam {

struct WindowDataset::Common {
  struct Member {
    DatasetMember source;
    WindowRule rule;
    InstructionRule instructions = InstructionRule::kFirst;
    ViewGeometry geometry;
    std::shared_ptr<const ClipPlan> plan;
    std::optional<VectorNormaliser> state;  // where there are statistics
    std::optional<VectorNormaliser> action;
    SetScan scan;
    std::map<std::string, std::string> prompt_of;  // by instruction text

    [[nodiscard]] const LeRobotReader& reader() const { return *source.reader; }
    [[nodiscard]] const EpisodeScan& episode(std::int64_t episode_idx) const {
      return scan.episodes[static_cast<std::size_t>(episode_idx)];
    }
    [[nodiscard]] std::string name() const { return source.reader->meta().root.string(); }
  };
  WindowDatasetOptions options;  // members moved out
  std::vector<Member> members;
};

struct WindowDataset::Part {
  std::vector<std::int64_t> episodes;  // episode_idx, ascending
  std::vector<std::uint64_t> first;    // window number of each episode's first, and the total
  std::uint64_t offset = 0;            // of this member's windows among all
  bool only_whole = false;             // without partial windows

  [[nodiscard]] const StartFrames& starts_of(const EpisodeScan& episode) const {
    return only_whole ? episode.whole : episode.starts;
  }

  [[nodiscard]] std::uint64_t size() const { return first.back(); }
};

struct WindowDataset::Located {
  std::size_t member = 0;
  std::int64_t episode_idx = 0;
  std::int64_t start = 0;
};

}  // namespace wam
