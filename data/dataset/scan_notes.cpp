#include "data/dataset/scan_notes.h"

#include <algorithm>

#include <fmt/core.h>

#include "core/base/format.h"
#include "core/base/names.h"

namespace wam {
namespace {

constexpr std::size_t kMostRuns = 100;

}  // namespace

std::string numbers_in_runs(const std::vector<std::int64_t>& numbers) {
  std::vector<std::string> runs;
  for (std::size_t i = 0; i < numbers.size();) {
    if (runs.size() == kMostRuns)
      return fmt::format("{} and {} more", join(runs), numbers.size() - i);
    std::size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    runs.push_back(end - i == 1 ? std::to_string(numbers[i])
                                : fmt::format("{}-{}", numbers[i], numbers[end - 1]));
    i = end;
  }
  return join(runs);
}

std::string no_window_text(const std::vector<std::int64_t>& without,
                           std::int64_t episodes,
                           std::int64_t too_short,
                           std::int64_t shortest) {
  const auto all = static_cast<std::int64_t>(without.size());
  std::string why;
  if (too_short > 0) {
    why = fmt::format(" ({} shorter than {} frames)",
                      too_short == all ? "all" : with_commas(too_short), shortest);
  }
  return fmt::format("{} of {} without a window{}: {}", with_commas(all),
                     counted(episodes, "episode"), why, numbers_in_runs(without));
}

std::vector<std::string> scan_notes(const LeRobotReader& reader,
                                    const SetScan& scan,
                                    const WindowRule& rule) {
  std::vector<std::string> notes;
  std::vector<std::int64_t> without;
  std::int64_t windows = 0;
  for (std::size_t e = 0; e < scan.episodes.size(); ++e) {
    windows += scan.episodes[e].not_provided;
    if (!scan.episodes[e].starts.empty()) continue;
    without.push_back(reader.episode_number(static_cast<std::int64_t>(e)));
  }
  const auto count = [&](const auto& is_meant) {
    return std::count_if(scan.episodes.begin(), scan.episodes.end(), is_meant);
  };
  const std::string name = reader.meta().name();
  if (!without.empty()) {
    const auto too_short = count(
        [&](const EpisodeScan& episode) { return episode.facts.length < rule.shortest_episode(); });
    notes.push_back(
        fmt::format("{}: {}", name,
                    no_window_text(without, static_cast<std::int64_t>(scan.episodes.size()),
                                   too_short, rule.shortest_episode())));
  }
  if (windows > 0) {
    notes.push_back(fmt::format(
        "{}: {} windows in {} of {} episodes have no instruction but 'not provided', and are "
        "trained with that text",
        name, windows, count([](const EpisodeScan& episode) { return episode.not_provided > 0; }),
        scan.episodes.size()));
  }
  return notes;
}

}  // namespace wam
