#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/embodiment/binding.h"
#include "data/embodiment/embodiment.h"
#include "data/lerobot/reader.h"
#include "data/window/window.h"

namespace wam {

// What is known of an episode before its first sample is asked for.
struct EpisodeScan {
  std::int64_t length = 0;
  // Runs of equal span labels: labels_of(scan)[i] is that of the last run that begins at or before
  // i.
  struct Run {
    std::int64_t begin = 0;
    std::int64_t label = 0;
  };
  std::vector<Run> runs;
  std::vector<std::int64_t> starts;  // that have a window, ascending
  std::vector<std::string> texts;    // every text a sample may be given, each once
};
std::vector<std::int64_t> labels_of(const EpisodeScan& scan);

// How one of several instructions is chosen.
enum class InstructionRule {
  kUniformProvided,  // any that is neither empty nor "not provided"; "not provided" where all are
  kFirstProvided,    // the first of those
  kFirst,            // the first that is not empty: the reference
};
// Of the texts of a frame (one per language key) the positions that may be chosen: not empty unless
// all texts are.
std::vector<std::size_t> eligible_texts(const std::vector<std::string>& texts,
                                        InstructionRule rule);

// The text of every language key at a frame.
std::vector<std::string> texts_at(const LeRobotReader& reader,
                                  const Binding& binding,
                                  std::int64_t episode_idx,
                                  std::int64_t frame);

// Reads the label and language columns of every episode, in `threads` threads.
// Errors: DataError naming dataset and episode, that of the first bad episode whatever the number
// of threads; a start frame without any instruction.
std::vector<EpisodeScan> scan_episodes(const LeRobotReader& reader,
                                       const Binding& binding,
                                       const WindowRule& rule,
                                       InstructionRule instructions,
                                       std::int64_t threads);

}  // namespace wam
