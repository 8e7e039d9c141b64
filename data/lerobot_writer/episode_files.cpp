#include <utility>

#include <fmt/core.h>

#include "core/io/atomic_file.h"
#include "data/lerobot_writer/dataset_files.h"

namespace wam::lerobot_writer {
namespace {

using nlohmann::ordered_json;
using std::filesystem::path;

constexpr std::int64_t kEpisodesInChunk = 1000;
constexpr const char* kDataPath =
    "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet";
constexpr const char* kVideoPath =
    "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4";

class EpisodeFiles final : public DatasetFiles {
 public:
  EpisodeFiles(path root, const Format& format, VideoEncoder encoder)
      : root_(std::move(root)), format_(format), encoder_(std::move(encoder)) {}

  void add_video(std::size_t camera, const std::vector<std::uint8_t>& pictures_THWC) override {
    const Camera& of = format_.cameras[camera];
    const path file = root_ / fmt::format("videos/chunk-{:03d}/{}/episode_{:06d}.mp4",
                                          episodes_ / kEpisodesInChunk, of.key, episodes_);
    std::filesystem::create_directories(file.parent_path());
    VideoFile video(file, encoder_, of.size, format_.fps);
    add_pictures(video, pictures_THWC, of.size);
    video.finish();
  }

  void add_rows(const std::vector<TableColumn>& columns) override {
    const path file = root_ / fmt::format("data/chunk-{:03d}/episode_{:06d}.parquet",
                                          episodes_ / kEpisodesInChunk, episodes_);
    std::filesystem::create_directories(file.parent_path());
    write_table(file, columns);
  }

  void end_episode(const Recording& recording,
                   const std::vector<NamedStatistics>& statistics) override {
    const ordered_json episode{
        {"episode_index", episodes_}, {"tasks", {recording.task}}, {"length", recording.frames}};
    ordered_json values;
    for (const auto& feature : statistics) values[feature.feature] = to_json(feature);
    episode_lines_ += episode.dump() + "\n";
    statistics_lines_ +=
        ordered_json{{"episode_index", episodes_}, {"stats", values}}.dump() + "\n";
    ++episodes_;
    frames_ += recording.frames;
  }

  ordered_json finish(const std::vector<std::string>& tasks) override {
    const path meta = root_ / "meta";
    std::string task_lines;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      task_lines += ordered_json{{"task_index", i}, {"task", tasks[i]}}.dump() + "\n";
    }
    write_file_atomically(meta / "tasks.jsonl", task_lines);
    write_file_atomically(meta / "episodes.jsonl", episode_lines_);
    write_file_atomically(meta / "episodes_stats.jsonl", statistics_lines_);
    const bool video = format_.pictures == PictureLayout::kMp4;
    const auto cameras = static_cast<std::int64_t>(format_.cameras.size());
    return {{"codebase_version", "v2.1"},
            {"robot_type", format_.robot_type},
            {"total_episodes", episodes_},
            {"total_frames", frames_},
            {"total_tasks", tasks.size()},
            {"total_videos", video ? episodes_ * cameras : 0},
            {"total_chunks", (episodes_ + kEpisodesInChunk - 1) / kEpisodesInChunk},
            {"chunks_size", kEpisodesInChunk},
            {"fps", format_.fps},
            {"splits", {{"train", fmt::format("0:{}", episodes_)}}},
            {"data_path", kDataPath},
            {"video_path", video ? ordered_json(kVideoPath) : ordered_json(nullptr)}};
  }

 private:
  path root_;
  const Format& format_;
  VideoEncoder encoder_;
  std::string episode_lines_;
  std::string statistics_lines_;
  std::int64_t episodes_ = 0;
  std::int64_t frames_ = 0;
};

}  // namespace

std::unique_ptr<DatasetFiles> make_episode_files(path root,
                                                 const Format& format,
                                                 const VideoEncoder& encoder) {
  return std::make_unique<EpisodeFiles>(std::move(root), format, encoder);
}

}  // namespace wam::lerobot_writer
