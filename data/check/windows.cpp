#include "data/check/windows.h"

#include <algorithm>
#include <numeric>

#include <fmt/core.h>

#include "core/base/format.h"
#include "data/dataset/scan_notes.h"

namespace wam {
namespace {

// The text of every language column at a frame.
std::vector<std::string> texts_at(const RawEpisodeFacts& facts, std::int64_t frame) {
  std::vector<std::string> texts;
  for (const auto& column : facts.language) {
    const auto after =
        std::upper_bound(column.begin(), column.end(), frame,
                         [](std::int64_t value, const auto& run) { return value < run.first; });
    texts.push_back(after == column.begin() ? std::string() : (after - 1)->second);
  }
  return texts;
}

bool is_excluded(const LeRobotReader& reader, std::int64_t number, std::int64_t start) {
  const auto& all = reader.meta().excluded_starts;
  const auto found = all.find(number);
  return found != all.end() &&
         std::binary_search(found->second.begin(), found->second.end(), start);
}

}  // namespace

std::string instruction_at(const RawEpisodeFacts& facts, std::int64_t start) {
  const auto texts = texts_at(facts, start);
  const auto eligible = eligible_texts(texts, InstructionRule::kFirstProvided);
  return eligible.empty() ? std::string() : texts[eligible.front()];
}

EpisodeWindows windows_of(const LeRobotReader& reader,
                          std::int64_t episode_idx,
                          const RawEpisodeFacts& facts,
                          const WindowRule& rule,
                          InstructionRule instructions) {
  EpisodeWindows out;
  out.number = reader.episode_number(episode_idx);
  out.length = facts.facts.length;
  const auto blocks = blocks_by_start(labels_of(facts.facts), rule);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto start = static_cast<std::int64_t>(i);
    if (blocks[i] == 0 || is_excluded(reader, out.number, start)) continue;
    ++out.windows;
    if (!out.first) out.first = start;
    const auto texts = texts_at(facts, start);
    const auto eligible = eligible_texts(texts, instructions);
    if (eligible.empty()) {
      if (out.without_instruction++ == 0) out.first_without = start;
    } else if (texts[eligible.front()] == kNotProvided) {
      ++out.not_provided;
    }
  }
  return out;
}

std::vector<Fault> check_windows(const std::vector<EpisodeWindows>& episodes,
                                 const WindowRule& rule) {
  std::vector<Fault> faults;
  std::vector<std::int64_t> without;
  std::vector<std::int64_t> not_provided;
  std::int64_t windows = 0;
  std::int64_t windows_not_provided = 0;
  std::int64_t too_short = 0;
  for (const EpisodeWindows& e : episodes) {
    windows += e.windows;
    windows_not_provided += e.not_provided;
    if (e.not_provided > 0) not_provided.push_back(e.number);
    if (e.windows == 0) without.push_back(e.number);
    if (e.windows == 0 && e.length < rule.shortest_episode()) ++too_short;
    if (e.without_instruction == 0) continue;
    faults.push_back({FaultKind::kNoInstruction,
                      Effect::kStart,
                      {},
                      e.number,
                      e.first_without,
                      fmt::format("{} windows have no instruction (an empty text, or a task that "
                                  "the task list lacks)",
                                  with_commas(e.without_instruction)),
                      "give its task a text, or leave the episode out"});
  }
  if (windows == 0) {
    faults.push_back(
        {FaultKind::kNoWindows,
         Effect::kStart,
         {},
         {},
         {},
         fmt::format("none of {} episodes has a window of {} blocks; the shortest that "
                     "has is {} frames long, in one instruction",
                     episodes.size(), rule.blocks, rule.shortest_episode()),
         "fewer blocks (model.blocks), another record, or longer episodes"});
  } else if (!without.empty()) {
    faults.push_back({FaultKind::kShortEpisode,
                      Effect::kNone,
                      {},
                      {},
                      {},
                      fmt::format("{} of {} episodes give no sample, {} of them because they are "
                                  "shorter than {} frames: {}",
                                  with_commas(static_cast<std::int64_t>(without.size())),
                                  with_commas(static_cast<std::int64_t>(episodes.size())),
                                  too_short, rule.shortest_episode(), numbers_in_runs(without)),
                      {}});
  }
  if (windows_not_provided > 0) {
    faults.push_back({FaultKind::kWithoutText,
                      Effect::kNone,
                      {},
                      {},
                      {},
                      fmt::format("{} windows have no instruction but 'not provided', and are "
                                  "trained with that text: episodes {}",
                                  with_commas(windows_not_provided), numbers_in_runs(not_provided)),
                      {}});
  }
  return faults;
}

}  // namespace wam
