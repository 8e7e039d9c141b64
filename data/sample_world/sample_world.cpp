#include "data/sample_world/sample_world.h"

#include <system_error>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/base/errors.h"
#include "core/base/format.h"
#include "core/io/atomic_file.h"
#include "data/sample_world/episode.h"
#include "data/sample_world/picture.h"

namespace wam {
namespace {

using lerobot_writer::PictureLayout;
using nlohmann::ordered_json;
using std::filesystem::path;

constexpr int kFps = 10;
constexpr int kIndent = 4;
// Raise when the same options would give other data.
constexpr int kFormat = 1;
constexpr const char* kMarker = "meta/sample_world.json";

void check(const SampleWorldOptions& options) {
  constexpr std::int64_t kMostEpisodes = 100'000;
  std::vector<std::string> problems;
  if (options.path.empty()) {
    problems.emplace_back("sample: no folder to write to. Fix: name one.");
  }
  if (options.episodes < 1 || options.episodes > kMostEpisodes) {
    problems.push_back(
        fmt::format("sample: found {} episodes, expected 1 to {}. Fix: for example 128.",
                    options.episodes, with_commas(kMostEpisodes)));
  }
  if (!(options.home_share >= 0 && options.home_share <= 1)) {
    problems.push_back(fmt::format(
        "sample: found home share {}, expected 0 to 1. Fix: for example 0.5.", options.home_share));
  }
  if (options.layout != PictureLayout::kMp4 && options.video_encoder != "auto") {
    problems.push_back(
        fmt::format("sample: found video encoder '{}', but this layout has no videos. "
                    "Fix: leave the encoder out, or choose the layout mp4.",
                    options.video_encoder));
  }
  if (!problems.empty()) throw ConfigError::of(problems);
}

// What the folder says about itself. The encoder is the resolved one, so that "auto" and its
// choice are the same.
ordered_json description(const SampleWorldOptions& options, bool complete) {
  ordered_json out{{"format", kFormat},
                   {"version", std::string(name_of(options.version))},
                   {"layout", std::string(name_of(options.layout))},
                   {"episodes", options.episodes},
                   {"seed", options.seed},
                   {"home_share", options.home_share}};
  if (options.layout == PictureLayout::kMp4) {
    out["video_encoder"] = lerobot_writer::choose_video_encoder(options.video_encoder).name;
  }
  out["complete"] = complete;
  return out;
}

ordered_json read_marker(const path& root) {
  if (!std::filesystem::exists(root / kMarker)) return {};
  return ordered_json::parse(read_file(root / kMarker), nullptr, false);
}

// "episodes 64 (wanted 128), seed 1 (wanted 0)"
std::string differences(const ordered_json& found, const ordered_json& wanted) {
  std::vector<std::string> out;
  for (const auto& [key, value] : wanted.items()) {
    const std::string there = found.contains(key) ? found[key].dump() : "nothing";
    if (key != "complete" && there != value.dump()) {
      out.push_back(fmt::format("{} {} (wanted {})", key, there, value.dump()));
    }
  }
  return join(out);
}

enum class Found { kNothing, kInterrupted, kComplete };

// What is in the folder already. Errors: ConfigError for anything that is not ours to touch.
Found inspect(const path& root, const ordered_json& wanted) {
  if (!std::filesystem::exists(root)) return Found::kNothing;
  require<ConfigError>(std::filesystem::is_directory(root),
                       "Writing a sample world to {}: found a file, expected an empty or a new "
                       "folder. Fix: choose another folder.",
                       root.string());
  if (std::filesystem::is_empty(root)) return Found::kNothing;
  const ordered_json marker = read_marker(root);
  require<ConfigError>(marker.is_object(),
                       "Writing a sample world to {}: the folder holds something else, expected "
                       "an empty or a new one. Fix: choose another folder, or empty this one.",
                       root.string());
  const std::string other = differences(marker, wanted);
  require<ConfigError>(other.empty(),
                       "Writing a sample world to {}: found a sample world with {}. Fix: choose "
                       "another folder, or delete this one.",
                       root.string(), other);
  return marker.value("complete", false) ? Found::kComplete : Found::kInterrupted;
}

std::string camera_key(std::string_view view) {
  return fmt::format("observation.images.{}", view);
}

lerobot_writer::Format format_of(const SampleWorldOptions& options) {
  lerobot_writer::Format format;
  format.robot_type = "sample_arm";
  format.fps = kFps;
  format.version = options.version;
  format.pictures = options.layout;
  format.video_encoder = options.video_encoder;
  for (const auto view : sample_world::kViewNames) {
    format.cameras.push_back(
        {camera_key(view), {sample_world::kPictureHeight, sample_world::kPictureWidth}});
  }
  const std::vector<std::string> joints{"shoulder", "elbow", "wrist"};
  format.vectors = {{"observation.state", joints}, {"action", joints}};
  return format;
}

// The short names that embodiments use, in the form of GR00T.
ordered_json modality() {
  const auto joints = [](const char* column) {
    return ordered_json{{"joint_position",
                         {{"original_key", column},
                          {"start", 0},
                          {"end", sample_world::kJoints},
                          {"rotation_type", nullptr},
                          {"absolute", true},
                          {"dtype", "float32"},
                          {"range", nullptr}}}};
  };
  ordered_json video;
  for (const auto view : sample_world::kViewNames) {
    video[std::string(view)] = {{"original_key", camera_key(view)}};
  }
  return {{"state", joints("observation.state")},
          {"action", joints("action")},
          {"video", video},
          {"annotation", {{"task", {{"original_key", "task_index"}}}}}};
}

lerobot_writer::Recording record(const sample_world::Episode& episode) {
  lerobot_writer::Recording recording;
  recording.task = sample_world::instruction(episode.scene.named);
  recording.frames = static_cast<std::int64_t>(episode.state.size());
  recording.pictures_THWC.resize(sample_world::kViews);
  recording.vectors.resize(2);
  for (std::size_t frame = 0; frame < episode.state.size(); ++frame) {
    const auto& state = episode.state[frame];
    const auto& action = episode.action[frame];
    recording.vectors[0].insert(recording.vectors[0].end(), state.begin(), state.end());
    recording.vectors[1].insert(recording.vectors[1].end(), action.begin(), action.end());
    for (int view = 0; view < sample_world::kViews; ++view) {
      sample_world::draw(recording.pictures_THWC[static_cast<std::size_t>(view)], view,
                         episode.scene, state);
    }
  }
  return recording;
}

void write_episodes(const SampleWorldOptions& options, lerobot_writer::Writer& writer, Log& log) {
  for (std::int64_t episode = 0; episode < options.episodes; ++episode) {
    writer.add(record(sample_world::simulate(options.seed, episode, options.home_share)));
    constexpr std::int64_t kLines = 8;  // where progress lines cannot replace each other
    const bool due = log.is_terminal() || (episode + 1) * kLines / options.episodes !=
                                              episode * kLines / options.episodes;
    if (due) log.progress(fmt::format("sample: episode {} of {}", episode + 1, options.episodes));
  }
  log.end_progress();
  writer.finish();
}

void write_all(const SampleWorldOptions& options, const ordered_json& wanted, Log& log) {
  for (const char* part : {"data", "videos"}) std::filesystem::remove_all(options.path / part);
  std::filesystem::create_directories(options.path / "meta");
  ordered_json marker = wanted;
  marker["complete"] = false;
  write_file_atomically(options.path / kMarker, marker.dump(kIndent) + "\n");
  lerobot_writer::Writer writer(options.path, format_of(options));
  write_episodes(options, writer, log);
  write_file_atomically(options.path / "meta/modality.json", modality().dump(kIndent) + "\n");
  write_file_atomically(options.path / kMarker, wanted.dump(kIndent) + "\n");
  log.info(fmt::format("sample: {} episodes, {} frames of {} views in {}", options.episodes,
                       with_commas(writer.frames()), sample_world::kViews, options.path.string()));
}

}  // namespace

void write_sample_world(const SampleWorldOptions& options, Log& log) {
  check(options);
  const ordered_json wanted = description(options, true);
  try {
    switch (inspect(options.path, wanted)) {
      case Found::kComplete:
        log.info(fmt::format("sample: {} already holds this sample world; kept as it is",
                             options.path.string()));
        return;
      case Found::kInterrupted:
        log.info(fmt::format("sample: writing {} was interrupted; written again from the start",
                             options.path.string()));
        break;
      case Found::kNothing:
        break;
    }
    if (wanted.contains("video_encoder")) {
      log.info(fmt::format("sample: videos by {}", wanted["video_encoder"].get<std::string>()));
    }
    write_all(options, wanted, log);
  } catch (const std::filesystem::filesystem_error& error) {
    throw DeviceError(
        fmt::format("Writing a sample world to {}: {}. Fix: choose a folder that can "
                    "be written.",
                    options.path.string(), error.what()));
  }
}

}  // namespace wam
