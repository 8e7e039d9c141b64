#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "data/embodiment/binding.h"
#include "data/lerobot/reader.h"

namespace wam {

// Frames of one value, up to where the next run begins.
struct FrameRun {
  std::int64_t begin = 0;
  std::int64_t value = 0;
  bool operator==(const FrameRun&) const = default;
};
// The value at a frame. `runs` begin at 0.
std::int64_t value_at(const std::vector<FrameRun>& runs, std::int64_t frame);

// What the tables of an episode say about its labels and instructions.
struct EpisodeFacts {
  std::int64_t length = 0;
  std::vector<FrameRun> labels;                 // of the span column
  std::vector<std::vector<FrameRun>> language;  // per language column: places in SetFacts::texts
  bool operator==(const EpisodeFacts&) const = default;
};

// The same before its texts have places in a common list: per language column where each begins.
struct RawEpisodeFacts {
  EpisodeFacts facts;  // without language
  std::vector<std::vector<std::pair<std::int64_t, std::string>>> language;
};
// Errors: DataError naming dataset and episode.
RawEpisodeFacts read_episode_facts(const LeRobotReader& reader,
                                   const Binding& binding,
                                   std::int64_t episode_idx);

// What opening a dataset reads of its tables, whatever windows are then cut of it.
struct SetFacts {
  std::vector<std::string> texts;  // each once, in the order of their first frame
  std::vector<EpisodeFacts> episodes;
  bool operator==(const SetFacts&) const = default;
};

// Told now and then how many episodes are done; one thread at a time.
using EpisodeProgress = std::function<void(std::int64_t done, std::int64_t total)>;

// Reads the label and language columns of every episode, in `threads` threads; the result does not
// depend on their number. A task that the task list lacks has an empty text.
// Errors: DataError naming dataset and episode, that of the first bad episode.
SetFacts read_facts(const LeRobotReader& reader,
                    const Binding& binding,
                    std::int64_t threads,
                    const EpisodeProgress& progress = {});

}  // namespace wam
