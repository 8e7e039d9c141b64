#include "data/lerobot/episode_filter.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string_view>

#include "core/base/errors.h"
#include "core/base/names.h"

namespace wam {
namespace {

struct NumberRange {
  std::int64_t first = 0;
  std::int64_t end = std::numeric_limits<std::int64_t>::max();
  std::string text;
};

bool parse_number(std::string_view text, std::int64_t& out) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, out);
  return error == std::errc{} && stop == end && out >= 0;
}

NumberRange parse_range(const std::string& text) {
  NumberRange range{.text = text};
  const std::string_view all = text;
  const auto colon = all.find(':');
  bool ok = false;
  if (colon == std::string_view::npos) {
    ok = parse_number(all, range.first);
    range.end = range.first + 1;
  } else {
    const auto first = all.substr(0, colon);
    const auto end = all.substr(colon + 1);
    ok = all.size() > 1 && (first.empty() || parse_number(first, range.first)) &&
         (end.empty() || parse_number(end, range.end)) && range.first < range.end;
  }
  require<ConfigError>(ok,
                       "'{}' is neither the number of an episode nor a range of them. Fix: write "
                       "them as in episodes: [7, 20:40], the end of a range excluded.",
                       text);
  return range;
}

// Removes what `keep` refuses, and notes it.
template <class Keep>
void keep_episodes(LeRobotMeta& meta, const std::string& condition, const Keep& keep) {
  const std::size_t before = meta.episodes.size();
  std::erase_if(meta.episodes, [&](const LeRobotEpisode& e) { return !keep(e); });
  const std::size_t removed = before - meta.episodes.size();
  meta.notes.push_back(
      fmt::format("{} of {} episodes are left out by {}", removed, before, condition));
}

void keep_listed(const std::vector<std::string>& listed, LeRobotMeta& meta) {
  std::vector<NumberRange> ranges;
  for (const auto& text : listed) ranges.push_back(parse_range(text));
  const auto within = [](const NumberRange& range, const LeRobotEpisode& e) {
    return e.number >= range.first && e.number < range.end;
  };
  for (const auto& range : ranges) {
    const bool found = std::any_of(meta.episodes.begin(), meta.episodes.end(),
                                   [&](const auto& e) { return within(range, e); });
    require<DataError>(found,
                       "LeRobot dataset {}: episodes: {} names no episode; those in use are {} "
                       "numbers from {} to {}. Fix: take it out of `episodes`.",
                       meta.root.string(), range.text, meta.episodes.size(),
                       meta.episodes.front().number, meta.episodes.back().number);
  }
  keep_episodes(meta, fmt::format("episodes: [{}]", join(listed)), [&](const LeRobotEpisode& e) {
    return std::any_of(ranges.begin(), ranges.end(), [&](const auto& r) { return within(r, e); });
  });
}

void keep_successful(LeRobotMeta& meta) {
  for (const auto& e : meta.episodes) {
    require<DataError>(e.success.has_value(),
                       "LeRobot dataset {}: only_successful: the episode list has no `success` for "
                       "episode {}. Fix: add it to meta/episodes, or name the episodes under "
                       "`episodes`.",
                       meta.root.string(), e.number);
  }
  keep_episodes(meta, "only_successful", [](const LeRobotEpisode& e) { return *e.success; });
}

void keep_lengths(const EpisodeFilter& filter, LeRobotMeta& meta) {
  for (const auto& e : meta.episodes) {
    require<DataError>(e.length.has_value(),
                       "LeRobot dataset {}: min_length, max_length: the episode list has no length "
                       "for episode {}. Fix: add `length` to meta/episodes.jsonl.",
                       meta.root.string(), e.number);
  }
  const std::string condition =
      filter.max_length > 0
          ? fmt::format("lengths of {} to {} frames", filter.min_length, filter.max_length)
          : fmt::format("a least length of {} frames", filter.min_length);
  keep_episodes(meta, condition, [&](const LeRobotEpisode& e) {
    return *e.length >= filter.min_length &&
           (filter.max_length == 0 || *e.length <= filter.max_length);
  });
}

}  // namespace

std::string EpisodeFilter::describe() const {
  if (is_empty()) return {};
  return fmt::format("episodes={};only_successful={};length={}-{}", join(episodes), only_successful,
                     min_length, max_length);
}

void apply(const EpisodeFilter& filter, LeRobotMeta& meta) {
  const std::size_t before = meta.episodes.size();
  if (!filter.episodes.empty()) keep_listed(filter.episodes, meta);
  if (filter.only_successful && !meta.episodes.empty()) keep_successful(meta);
  if (filter.min_length > 0 || filter.max_length > 0) keep_lengths(filter, meta);
  require<DataError>(!meta.episodes.empty(),
                     "LeRobot dataset {}: none of its {} episodes passes the filter ({}). Fix: a "
                     "wider `episodes`, min_length, max_length or only_successful.",
                     meta.root.string(), before, filter.describe());
}

}  // namespace wam
