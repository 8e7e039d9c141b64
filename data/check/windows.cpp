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

Fault no_instruction(const EpisodeWindows& e) {
  return {
      FaultKind::kNoInstruction,
      Effect::kStart,
      {},
      e.number,
      e.first_without,
      fmt::format("{} without an instruction (an empty text, or a task that the task list lacks)",
                  counted(e.without_instruction, "window")),
      "give its task a text, or leave the episode out"};
}

Fault about_all(FaultKind kind, Effect effect, std::string message, std::string fix) {
  return {kind, effect, {}, {}, {}, std::move(message), std::move(fix)};
}

// Episodes that give no sample, or a set of nothing else.
std::optional<Fault> without_window(const std::vector<EpisodeWindows>& episodes,
                                    const WindowRule& rule) {
  std::vector<std::int64_t> without;
  std::int64_t too_short = 0;
  for (const EpisodeWindows& e : episodes) {
    if (e.windows > 0) continue;
    without.push_back(e.number);
    too_short += e.length < rule.shortest_episode() ? 1 : 0;
  }
  if (without.empty()) return std::nullopt;
  const auto all = static_cast<std::int64_t>(episodes.size());
  if (without.size() == episodes.size()) {
    return about_all(FaultKind::kNoWindows, Effect::kStart,
                     fmt::format("none of {} has a window of {} blocks, which takes {} frames of "
                                 "one instruction",
                                 counted(all, "episode"), rule.blocks, rule.shortest_episode()),
                     "fewer blocks (model.blocks), another record, or longer episodes");
  }
  return about_all(FaultKind::kShortEpisode, Effect::kNone,
                   no_window_text(without, all, too_short, rule.shortest_episode()), {});
}

std::optional<Fault> only_not_provided(const std::vector<EpisodeWindows>& episodes) {
  std::vector<std::int64_t> numbers;
  std::int64_t windows = 0;
  for (const EpisodeWindows& e : episodes) {
    windows += e.not_provided;
    if (e.not_provided > 0) numbers.push_back(e.number);
  }
  if (windows == 0) return std::nullopt;
  return about_all(FaultKind::kWithoutText, Effect::kNone,
                   fmt::format("{} with no instruction but 'not provided', which is the text they "
                               "are trained with: episodes {}",
                               counted(windows, "window"), numbers_in_runs(numbers)),
                   {});
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
  for (const EpisodeWindows& e : episodes) {
    if (e.without_instruction > 0) faults.push_back(no_instruction(e));
  }
  if (auto fault = without_window(episodes, rule)) faults.push_back(*std::move(fault));
  if (auto fault = only_not_provided(episodes)) faults.push_back(*std::move(fault));
  return faults;
}

}  // namespace wam
