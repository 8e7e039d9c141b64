#include "data/dataset/scan.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/base/errors.h"

namespace wam {
namespace {

// Frames with at least so many blocks.
std::vector<std::int64_t> starts_of(const std::vector<std::int64_t>& blocks, std::int64_t least) {
  std::vector<std::int64_t> starts;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i] >= least) starts.push_back(static_cast<std::int64_t>(i));
  }
  return starts;
}

// Frames that meta/step_filter.jsonl rules out are no starts.
void remove_excluded(const LeRobotReader& reader,
                     std::int64_t episode_idx,
                     std::vector<std::int64_t>& starts) {
  const auto& all = reader.meta().excluded_starts;
  const auto found = all.find(reader.episode_number(episode_idx));
  if (found == all.end()) return;
  std::erase_if(starts, [&](std::int64_t start) {
    return std::binary_search(found->second.begin(), found->second.end(), start);
  });
}

// Every text that a start of this episode may be given. Between the places where any text changes
// all frames are alike, so one start of each stretch is asked.
void collect_texts(const LeRobotReader& reader,
                   SetScan& scan,
                   std::int64_t episode_idx,
                   const std::vector<std::int64_t>& starts,
                   InstructionRule instructions) {
  EpisodeScan& episode = scan.episodes[static_cast<std::size_t>(episode_idx)];
  std::set<std::int64_t> changes;
  for (const auto& runs : episode.facts.language) {
    for (const FrameRun& run : runs) changes.insert(run.begin);
  }
  std::set<std::string> found;
  auto next_change = changes.begin();
  bool provided = true;
  for (const auto start : starts) {
    const bool alike =
        start != starts.front() && (next_change == changes.end() || start < *next_change);
    if (!alike) {
      next_change = changes.upper_bound(start);
      const auto texts = texts_at(scan, episode_idx, start);
      const auto eligible = eligible_texts(texts, instructions);
      require<DataError>(!eligible.empty(),
                         "scanning LeRobot dataset {}: episode {}, frame {} has no instruction (an "
                         "empty text, or a task that the task list lacks). Fix: give its task a "
                         "text, or discard the episode",
                         reader.meta().root.string(), reader.episode_number(episode_idx), start);
      for (const auto k : eligible) found.insert(texts[k]);
      provided = texts[eligible.front()] != kNotProvided;
    }
    episode.not_provided += provided ? 0 : 1;
  }
  episode.texts.assign(found.begin(), found.end());
}

}  // namespace

std::vector<std::int64_t> labels_of(const EpisodeFacts& facts) {
  std::vector<std::int64_t> labels(static_cast<std::size_t>(facts.length));
  for (std::size_t r = 0; r < facts.labels.size(); ++r) {
    const bool is_last = r + 1 == facts.labels.size();
    const std::int64_t end = is_last ? facts.length : facts.labels[r + 1].begin;
    std::fill(labels.begin() + facts.labels[r].begin, labels.begin() + end, facts.labels[r].value);
  }
  return labels;
}

std::vector<std::size_t> eligible_texts(const std::vector<std::string>& texts,
                                        InstructionRule rule) {
  std::vector<std::size_t> provided;
  std::vector<std::size_t> any;
  for (std::size_t k = 0; k < texts.size(); ++k) {
    if (texts[k].empty()) continue;
    any.push_back(k);
    if (texts[k] != kNotProvided) provided.push_back(k);
  }
  std::vector<std::size_t>& chosen =
      rule == InstructionRule::kFirst || provided.empty() ? any : provided;
  // "not provided" once: several keys with it are one choice.
  const bool one = rule != InstructionRule::kUniformProvided || provided.empty();
  if (one && chosen.size() > 1) chosen.resize(1);
  return chosen;
}

std::vector<std::string> texts_at(const SetScan& scan,
                                  std::int64_t episode_idx,
                                  std::int64_t frame) {
  std::vector<std::string> texts;
  for (const auto& runs : scan.episodes[static_cast<std::size_t>(episode_idx)].facts.language) {
    texts.push_back(scan.texts[static_cast<std::size_t>(value_at(runs, frame))]);
  }
  return texts;
}

SetScan scan_episodes(const LeRobotReader& reader,
                      SetFacts facts,
                      const WindowRule& rule,
                      InstructionRule instructions) {
  SetScan scan;
  scan.texts = std::move(facts.texts);
  for (EpisodeFacts& episode : facts.episodes) {
    const auto episode_idx = static_cast<std::int64_t>(scan.episodes.size());
    const auto blocks = blocks_by_start(labels_of(episode), rule);
    auto starts = starts_of(blocks, 1);
    auto whole = starts_of(blocks, rule.blocks);
    remove_excluded(reader, episode_idx, starts);
    remove_excluded(reader, episode_idx, whole);
    scan.episodes.push_back(
        {std::move(episode), StartFrames(starts), StartFrames(whole), {}, {}, 0});
    for (const auto start : starts) {
      scan.episodes.back().first_of_blocks.emplace(blocks[static_cast<std::size_t>(start)], start);
    }
    if (!starts.empty()) collect_texts(reader, scan, episode_idx, starts, instructions);
  }
  return scan;
}

}  // namespace wam
