#include <algorithm>

#include "data/lerobot/meta_parts.h"

// The lists of v2.x, JSON lines, and the one that both layouts have.

namespace wam {
namespace {

// The first of these fields that is there and not null, as RLinf @ a3816b5 reads it.
std::optional<std::int64_t> read_length(const Json& line, const std::string& where) {
  for (const char* name : {"episode_length", "length", "num_frames", "num_steps"}) {
    const auto found = line.find(name);
    if (found == line.end() || found->is_null()) continue;
    const auto length = json_field<std::int64_t>(line, name, "a whole number", where);
    require<DataError>(length > 0, "{}: {} is {}, expected at least 1. Fix: drop the episode.",
                       where, name, length);
    return length;
  }
  return std::nullopt;
}

}  // namespace

void sort_episodes(std::vector<LeRobotEpisode>& episodes, const std::filesystem::path& list) {
  std::sort(episodes.begin(), episodes.end(),
            [](const auto& a, const auto& b) { return a.number < b.number; });
  const auto twin =
      std::adjacent_find(episodes.begin(), episodes.end(),
                         [](const auto& a, const auto& b) { return a.number == b.number; });
  require<DataError>(twin == episodes.end(),
                     "{}: episode {} is listed twice. Fix: remove one of the two.", list.string(),
                     twin == episodes.end() ? 0 : twin->number);
}

std::vector<LeRobotEpisode> read_episode_lines(const std::filesystem::path& root) {
  const auto path = root / "meta" / "episodes.jsonl";
  std::vector<LeRobotEpisode> episodes;
  for_each_json_line(path, [&](const Json& line, const std::string& where) {
    LeRobotEpisode episode;
    episode.number = json_field<std::int64_t>(line, "episode_index", "a whole number", where);
    episode.length = read_length(line, where);
    if (line.contains("success") && !line.at("success").is_null()) {
      episode.success = json_field<bool>(line, "success", "true or false", where);
    }
    episodes.push_back(std::move(episode));
  });
  sort_episodes(episodes, path);
  return episodes;
}

std::map<std::int64_t, std::string> read_task_lines(const std::filesystem::path& root) {
  std::map<std::int64_t, std::string> tasks;
  for_each_json_line(
      root / "meta" / "tasks.jsonl", [&](const Json& line, const std::string& where) {
        const auto index = json_field<std::int64_t>(line, "task_index", "a whole number", where);
        tasks[index] = json_field<std::string>(line, "task", "a text", where);
      });
  return tasks;
}

std::map<std::int64_t, std::vector<std::int64_t>> read_step_filter(
    const std::filesystem::path& root) {
  std::map<std::int64_t, std::vector<std::int64_t>> excluded;
  const auto path = root / "meta" / "step_filter.jsonl";
  if (!std::filesystem::exists(path)) return excluded;
  for_each_json_line(path, [&](const Json& line, const std::string& where) {
    const auto number = json_field<std::int64_t>(line, "episode_index", "a whole number", where);
    const auto steps = json_field<std::vector<std::int64_t>>(line, "step_indices",
                                                             "a list of whole numbers", where);
    auto& all = excluded[number];
    all.insert(all.end(), steps.begin(), steps.end());
    std::sort(all.begin(), all.end());
  });
  return excluded;
}

}  // namespace wam
