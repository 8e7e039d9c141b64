#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/lerobot/meta.h"

namespace wam {

// Which episodes of a dataset are used.
struct EpisodeFilter {
  // Numbers and ranges "first:end" (end excluded, either may be left out). Empty: all.
  std::vector<std::string> episodes = {};
  bool only_successful = false;  // those that the episode list says `success: true` of
  std::int64_t min_length = 0;   // frames
  std::int64_t max_length = 0;   // 0: no bound

  [[nodiscard]] bool is_empty() const {
    return episodes.empty() && !only_successful && min_length == 0 && max_length == 0;
  }
  // The same for the same filter; empty for none.
  [[nodiscard]] std::string describe() const;
};

// Takes the other episodes out of meta.episodes and notes how many each condition took.
// Errors: ConfigError for an item that is neither number nor range, DataError for a number or range
// without an episode, for lengths and flags that the episode list does not have, and when no
// episode is left.
void apply(const EpisodeFilter& filter, LeRobotMeta& meta);

}  // namespace wam
