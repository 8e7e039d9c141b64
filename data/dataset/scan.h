#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "data/dataset/set_facts.h"
#include "data/dataset/start_frames.h"
#include "data/lerobot/reader.h"
#include "data/window/window.h"

namespace wam {

// What is known of an episode before its first sample is asked for.
struct EpisodeScan {
  EpisodeFacts facts;
  StartFrames starts;              // that have a window
  StartFrames whole;               // those whose window has all blocks
  std::vector<std::string> texts;  // every text a sample may be given, each once
  std::map<std::int64_t, std::int64_t> first_of_blocks;  // number of blocks -> first such start
  std::int64_t not_provided = 0;  // starts whose instruction is the text "not provided"
};
struct SetScan {
  std::vector<std::string> texts;     // of all language columns; EpisodeFacts::language has places
  std::vector<EpisodeScan> episodes;  // by episode_idx
};
// The span label of every frame.
std::vector<std::int64_t> labels_of(const EpisodeFacts& facts);

// What datasets write where they have no instruction.
inline constexpr const char* kNotProvided = "not provided";

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
std::vector<std::string> texts_at(const SetScan& scan,
                                  std::int64_t episode_idx,
                                  std::int64_t frame);

// Finds the starts in what the tables say.
// Errors: DataError for a start frame without any instruction.
SetScan scan_episodes(const LeRobotReader& reader,
                      SetFacts facts,
                      const WindowRule& rule,
                      InstructionRule instructions);

}  // namespace wam
