#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/check/fault.h"
#include "data/dataset/scan.h"
#include "data/lerobot/reader.h"
#include "data/window/window.h"

namespace wam {

// The windows of an episode and their instructions, by its labels and texts.
struct EpisodeWindows {
  std::int64_t number = 0;
  std::int64_t length = 0;
  std::int64_t windows = 0;
  std::optional<std::int64_t> first;     // start of the first
  std::int64_t not_provided = 0;         // windows with no instruction but "not provided"
  std::int64_t without_instruction = 0;  // windows with none at all
  std::int64_t first_without = 0;        // start of the first of those
};

// The first text that a window starting here may be given; empty: none.
std::string instruction_at(const RawEpisodeFacts& facts, std::int64_t start);

EpisodeWindows windows_of(const LeRobotReader& reader,
                          std::int64_t episode_idx,
                          const RawEpisodeFacts& facts,
                          const WindowRule& rule,
                          InstructionRule instructions);

// Episodes without a window in one fault, windows without an instruction one each.
std::vector<Fault> check_windows(const std::vector<EpisodeWindows>& episodes,
                                 const WindowRule& rule);

}  // namespace wam
