#include "data/lerobot/meta.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <numeric>
#include <set>

#include "core/base/errors.h"
#include "core/base/names.h"
#include "core/base/now_reading.h"
#include "data/lerobot/json_file.h"
#include "data/lerobot/meta_parts.h"

namespace wam {
namespace {

void check_version(const std::string& version, const std::filesystem::path& root) {
  require<DataError>(
      version == "v2.0" || version == "v2.1" || version == "v3.0",
      "LeRobot dataset {}: info.json has the codebase_version '{}', expected v2.0, v2.1 or v3.0. "
      "Fix: convert the dataset with LeRobot's own script.",
      root.string(), version);
}

// "0:57" is a range of episodes. "0:100" as the only split is what the converter of DROID
// writes for the whole set, in percent.
std::optional<std::pair<std::int64_t, std::int64_t>> read_training_split(const Json& info,
                                                                         const std::string& where) {
  const auto splits = info.find("splits");
  if (splits == info.end() || !splits->is_object() || !splits->contains("train")) {
    return std::nullopt;
  }
  const auto text = json_field<std::string>(*splits, "train", "a range such as 0:57", where);
  if (text == "0:100" && splits->size() == 1) return std::nullopt;
  const auto colon = text.find(':');
  std::pair<std::int64_t, std::int64_t> range{-1, -1};
  if (colon != std::string::npos) {
    const char* end = text.data() + text.size();
    const auto first = std::from_chars(text.data(), text.data() + colon, range.first);
    const auto last = std::from_chars(text.data() + colon + 1, end, range.second);
    const bool whole = first.ptr == text.data() + colon && last.ptr == end;
    if (whole && first.ec == std::errc() && last.ec == std::errc()) return range;
  }
  throw DataError(
      fmt::format("{}: splits.train is '{}', expected a range of episodes such as "
                  "0:57. Fix: mend info.json.",
                  where, text));
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
  info.training_episodes = read_training_split(json, where);
  return info;
}

std::vector<LeRobotEpisode> used_episodes(std::vector<LeRobotEpisode> listed,
                                          const LeRobotInfo& info,
                                          std::vector<std::string>& notes) {
  const std::set<std::int64_t> discarded(info.discarded_episodes.begin(),
                                         info.discarded_episodes.end());
  std::size_t num_discarded = 0;
  std::size_t num_outside = 0;
  std::vector<LeRobotEpisode> used;
  for (std::size_t i = 0; i < listed.size(); ++i) {
    LeRobotEpisode& episode = listed[i];
    const auto at = static_cast<std::int64_t>(i);
    const auto& range = info.training_episodes;
    const bool outside = range && (at < range->first || at >= range->second);
    num_outside += outside ? 1 : 0;
    if (outside) continue;
    const bool drop = discarded.count(episode.number) > 0;
    num_discarded += drop ? 1 : 0;
    if (!drop) used.push_back(std::move(episode));
  }
  if (num_outside > 0) {
    notes.push_back(fmt::format(
        "{} of {} episodes lie outside of splits.train ({}:{}) and are not "
        "used",
        num_outside, listed.size(), info.training_episodes->first, info.training_episodes->second));
  }
  if (num_discarded > 0) {
    notes.push_back(
        fmt::format("{} of {} episodes are discarded by info.json "
                    "(discarded_episode_indices)",
                    num_discarded, listed.size()));
  }
  return used;
}

bool is_known_type(const std::string& dtype) {
  constexpr std::array kKnown{"float16", "float32", "float64", "int8", "int16",
                              "int32",   "int64",   "uint8",   "bool", "image",
                              "video",   "string",  "language"};
  return std::find(kKnown.begin(), kKnown.end(), dtype) != kKnown.end();
}

void note_ignored_features(const LeRobotInfo& info, std::vector<std::string>& notes) {
  std::vector<std::string> depth;
  std::vector<std::string> unknown;
  for (const LeRobotFeature& feature : info.features) {
    if (feature.is_depth) depth.push_back(feature.name);
    if (!is_known_type(feature.dtype)) {
      unknown.push_back(fmt::format("{} ({})", feature.name, feature.dtype));
    }
  }
  if (!depth.empty()) notes.push_back(fmt::format("depth maps are not read: {}", join(depth)));
  if (!unknown.empty()) {
    notes.push_back(fmt::format("features of unknown types are not read: {}", join(unknown)));
  }
}

std::vector<std::string> video_features(const LeRobotInfo& info) {
  std::vector<std::string> out;
  for (const LeRobotFeature& feature : info.features) {
    if (feature.dtype == "video") out.push_back(feature.name);
  }
  return out;
}

std::string read_embodiment_tag(const std::filesystem::path& root) {
  const auto path = root / "meta" / "embodiment.json";
  if (!std::filesystem::exists(path)) return {};
  return read_json_object(path).value("embodiment_tag", std::string());
}

void check_folder(const std::filesystem::path& root) {
  const Reading reading(root);
  require<DataError>(std::filesystem::is_directory(root),
                     "opening the LeRobot dataset {}: no such folder. Fix: give the folder that "
                     "holds meta/, data/ and videos/.",
                     root.string());
  require<DataError>(
      std::filesystem::exists(root / "meta" / "info.json"),
      "opening the LeRobot dataset {}: it has no meta/info.json. Fix: give the folder "
      "that holds meta/, data/ and videos/.",
      root.string());
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
  check_folder(root);
  LeRobotMeta meta;
  meta.root = root;
  meta.info = read_info(root);
  if (meta.info.is_v3()) meta.videos = video_features(meta.info);
  auto listed =
      meta.info.is_v3() ? read_episode_tables(root, meta.videos) : read_episode_lines(root);
  meta.num_listed = static_cast<std::int64_t>(listed.size());
  meta.episodes = used_episodes(std::move(listed), meta.info, meta.notes);
  require<DataError>(!meta.episodes.empty(),
                     "LeRobot dataset {}: no episode (the episode list is empty, or info.json "
                     "discards all of it). Fix: give a dataset with episodes.",
                     root.string());
  meta.tasks = meta.info.is_v3() ? read_task_table(root) : read_task_lines(root);
  meta.excluded_starts = read_step_filter(root);
  note_ignored_features(meta.info, meta.notes);
  meta.modality = read_modality(root);
  meta.embodiment_tag = read_embodiment_tag(root);
  return meta;
}

std::vector<std::filesystem::path> list_files(const LeRobotMeta& meta) {
  const auto folder = meta.root / "meta";
  if (!meta.info.is_v3()) {
    return {folder / "info.json", folder / "episodes.jsonl", folder / "tasks.jsonl"};
  }
  std::vector<std::filesystem::path> files = {folder / "info.json", folder / "tasks.parquet"};
  const auto lists = parquet_files_below(folder / "episodes");
  files.insert(files.end(), lists.begin(), lists.end());
  return files;
}

}  // namespace wam
