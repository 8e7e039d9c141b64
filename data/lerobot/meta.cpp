#include "data/lerobot/meta.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "core/base/errors.h"
#include "core/base/names.h"
#include "data/lerobot/json_file.h"
#include "data/lerobot/meta_parts.h"

namespace wam {
namespace {

void check_version(const std::string& version, const std::filesystem::path& root) {
  if (version == "v2.0" || version == "v2.1") return;
  require<DataError>(
      !version.starts_with("v3"),
      "LeRobot dataset {}: layout {} is not built yet; v2.0 and v2.1 are. Fix: use a "
      "v2.1 copy of the dataset (LeRobot 0.3.3 writes it).",
      root.string(), version);
  throw DataError(
      fmt::format("LeRobot dataset {}: info.json has the codebase_version '{}', expected v2.0 or "
                  "v2.1. Fix: convert the dataset with LeRobot 0.3.3.",
                  root.string(), version));
}

LeRobotInfo read_info(const std::filesystem::path& root) {
  const auto path = root / "meta" / "info.json";
  const std::string where = path.string();
  const Json json = read_json_object(path);
  LeRobotInfo info;
  info.version = json_field<std::string>(json, "codebase_version", "a text such as v2.1", where);
  check_version(info.version, root);
  const auto robot = json.find("robot_type");
  if (robot != json.end() && robot->is_string()) info.robot_type = robot->get<std::string>();
  info.fps = json_field<double>(json, "fps", "a number", where);
  require<DataError>(info.fps > 0, "{}: fps is {}, expected more than 0. Fix: mend info.json.",
                     where, info.fps);
  info.total_frames = json.value("total_frames", std::int64_t{0});
  info.chunks_size = json_field<std::int64_t>(json, "chunks_size", "a whole number", where);
  require<DataError>(info.chunks_size > 0,
                     "{}: chunks_size is {}, expected at least 1. Fix: mend info.json.", where,
                     info.chunks_size);
  info.data_path = json_field<std::string>(json, "data_path", "a path template", where);
  const auto video = json.find("video_path");
  if (video != json.end() && !video->is_null()) {
    info.video_path = json_field<std::string>(json, "video_path", "a path template", where);
  }
  info.features = read_features(json_field<Json>(json, "features", "an object", where), where);
  if (json.contains("discarded_episode_indices")) {
    info.discarded_episodes = json_field<std::vector<std::int64_t>>(
        json, "discarded_episode_indices", "a list of whole numbers", where);
  }
  return info;
}

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

std::vector<LeRobotEpisode> read_episodes(const std::filesystem::path& root,
                                          const std::vector<std::int64_t>& discarded) {
  const auto path = root / "meta" / "episodes.jsonl";
  std::vector<LeRobotEpisode> episodes;
  for_each_json_line(path, [&](const Json& line, const std::string& where) {
    const auto number = json_field<std::int64_t>(line, "episode_index", "a whole number", where);
    if (std::find(discarded.begin(), discarded.end(), number) != discarded.end()) return;
    episodes.push_back({number, read_length(line, where)});
  });
  std::sort(episodes.begin(), episodes.end(),
            [](const auto& a, const auto& b) { return a.number < b.number; });
  const auto twin =
      std::adjacent_find(episodes.begin(), episodes.end(),
                         [](const auto& a, const auto& b) { return a.number == b.number; });
  require<DataError>(twin == episodes.end(),
                     "{}: episode {} is listed twice. Fix: remove one of the lines.", path.string(),
                     twin == episodes.end() ? 0 : twin->number);
  require<DataError>(!episodes.empty(),
                     "LeRobot dataset {}: no episode ({} lists none{}). Fix: give a dataset with "
                     "episodes.",
                     root.string(), path.string(),
                     discarded.empty() ? "" : " that info.json does not discard");
  return episodes;
}

std::map<std::int64_t, std::string> read_tasks(const std::filesystem::path& root) {
  std::map<std::int64_t, std::string> tasks;
  for_each_json_line(
      root / "meta" / "tasks.jsonl", [&](const Json& line, const std::string& where) {
        const auto index = json_field<std::int64_t>(line, "task_index", "a whole number", where);
        tasks[index] = json_field<std::string>(line, "task", "a text", where);
      });
  return tasks;
}

std::string read_embodiment_tag(const std::filesystem::path& root) {
  const auto path = root / "meta" / "embodiment.json";
  if (!std::filesystem::exists(path)) return {};
  return read_json_object(path).value("embodiment_tag", std::string());
}

}  // namespace

std::int64_t LeRobotFeature::num_values() const {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

const LeRobotFeature* LeRobotInfo::feature(const std::string& name) const {
  const auto found = std::find_if(features.begin(), features.end(),
                                  [&](const LeRobotFeature& f) { return f.name == name; });
  return found == features.end() ? nullptr : &*found;
}

std::string LeRobotMeta::name() const {
  const auto clean = root.lexically_normal();
  return clean.has_filename() ? clean.filename().string() : clean.parent_path().filename().string();
}

LeRobotMeta read_lerobot_meta(const std::filesystem::path& root) {
  require<DataError>(std::filesystem::is_directory(root),
                     "opening the LeRobot dataset {}: no such folder. Fix: give the folder that "
                     "holds meta/, data/ and videos/.",
                     root.string());
  require<DataError>(
      std::filesystem::exists(root / "meta" / "info.json"),
      "opening the LeRobot dataset {}: it has no meta/info.json. Fix: give the folder "
      "that holds meta/, data/ and videos/.",
      root.string());
  LeRobotMeta meta;
  meta.root = root;
  meta.info = read_info(root);
  meta.episodes = read_episodes(root, meta.info.discarded_episodes);
  meta.tasks = read_tasks(root);
  meta.modality = read_modality(root);
  meta.embodiment_tag = read_embodiment_tag(root);
  return meta;
}

}  // namespace wam
