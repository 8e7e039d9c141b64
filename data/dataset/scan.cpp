#include "data/dataset/scan.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/base/errors.h"

namespace wam {
namespace {

constexpr const char* kNotProvided = "not provided";

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
std::vector<std::string> collect_texts(const LeRobotReader& reader,
                                       const SetScan& scan,
                                       std::int64_t episode_idx,
                                       const std::vector<std::int64_t>& starts,
                                       InstructionRule instructions) {
  const EpisodeFacts& facts = scan.episodes[static_cast<std::size_t>(episode_idx)].facts;
  std::set<std::int64_t> changes;
  for (const auto& runs : facts.language) {
    for (const FrameRun& run : runs) changes.insert(run.begin);
  }
  std::set<std::string> found;
  auto next_change = changes.begin();
  for (const auto start : starts) {
    if (start != starts.front() && (next_change == changes.end() || start < *next_change)) continue;
    next_change = changes.upper_bound(start);
    const auto texts = texts_at(scan, episode_idx, start);
    const auto eligible = eligible_texts(texts, instructions);
    require<DataError>(!eligible.empty(),
                       "scanning LeRobot dataset {}: episode {}, frame {} has no instruction (an "
                       "empty text, or a task that the task list lacks). Fix: give its task a "
                       "text, or discard the episode",
                       reader.meta().root.string(), reader.episode_number(episode_idx), start);
    for (const auto k : eligible) found.insert(texts[k]);
  }
  return {found.begin(), found.end()};
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
    auto starts = valid_starts(labels_of(episode), rule);
    remove_excluded(reader, episode_idx, starts);
    scan.episodes.push_back({std::move(episode), StartFrames(starts), {}});
    if (starts.empty()) continue;
    scan.episodes.back().texts = collect_texts(reader, scan, episode_idx, starts, instructions);
  }
  return scan;
}

}  // namespace wam
