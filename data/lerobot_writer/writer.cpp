#include "data/lerobot_writer/writer.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "core/base/errors.h"
#include "core/io/atomic_file.h"
#include "data/lerobot_writer/feature_statistics.h"
#include "data/lerobot_writer/table_writer.h"

namespace wam::lerobot_writer {
namespace {

using nlohmann::ordered_json;
using std::filesystem::path;

constexpr std::int64_t kEpisodesInChunk = 1000;
constexpr const char* kDataPath =
    "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet";
constexpr const char* kVideoPath =
    "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4";
constexpr std::array kCountedColumns{"frame_index", "episode_index", "index", "task_index"};

path data_file(std::int64_t episode) {
  return fmt::format("data/chunk-{:03d}/episode_{:06d}.parquet", episode / kEpisodesInChunk,
                     episode);
}

path video_file(const std::string& key, std::int64_t episode) {
  return fmt::format("videos/chunk-{:03d}/{}/episode_{:06d}.mp4", episode / kEpisodesInChunk, key,
                     episode);
}

std::size_t picture_bytes(PictureSize size) {
  return static_cast<std::size_t>(size.height) * static_cast<std::size_t>(size.width) * 3;
}

ordered_json to_json(const FeatureStatistics& statistics) {
  return {{"min", statistics.min},
          {"max", statistics.max},
          {"mean", statistics.mean},
          {"std", statistics.std},
          {"count", {statistics.count}}};
}

// LeRobot keeps picture statistics as (3, 1, 1).
ordered_json to_picture_json(const FeatureStatistics& statistics) {
  ordered_json out = to_json(statistics);
  for (const char* name : {"min", "max", "mean", "std"}) {
    ordered_json nested = ordered_json::array();
    for (const auto& value : out[name]) nested.push_back({{value}});
    out[name] = nested;
  }
  return out;
}

ordered_json camera_feature(const Camera& camera, const Format& format, const std::string& codec) {
  const bool video = format.pictures == PictureLayout::kMp4;
  ordered_json feature{{"dtype", video ? "video" : "image"},
                       {"shape", {camera.size.height, camera.size.width, 3}},
                       {"names", {"height", "width", "channels"}}};
  if (video) {
    feature["info"] = {{"video.height", camera.size.height},
                       {"video.width", camera.size.width},
                       {"video.codec", codec},
                       {"video.pix_fmt", "yuv420p"},
                       {"video.is_depth_map", false},
                       {"video.fps", format.fps},
                       {"video.channels", 3},
                       {"has_audio", false}};
  }
  return feature;
}

std::vector<double> widened(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

std::vector<double> widened(const std::vector<std::int64_t>& values) {
  std::vector<double> out;
  for (const std::int64_t value : values) out.push_back(static_cast<double>(value));
  return out;
}

}  // namespace

struct Writer::Impl {
  path root;
  Format format;
  VideoEncoder encoder;
  std::vector<std::string> tasks;
  std::string episode_lines;
  std::string statistics_lines;
  std::int64_t episodes = 0;
  std::int64_t frames = 0;

  void check(const Recording& recording) const {
    invariant(recording.frames > 0, "an episode with frames");
    invariant(recording.pictures_THWC.size() == format.cameras.size(), "pictures of every camera");
    invariant(recording.vectors.size() == format.vectors.size(), "values of every vector");
    const auto rows = static_cast<std::size_t>(recording.frames);
    for (std::size_t i = 0; i < format.cameras.size(); ++i) {
      invariant(recording.pictures_THWC[i].size() == rows * picture_bytes(format.cameras[i].size),
                "a picture a frame");
    }
    for (std::size_t i = 0; i < format.vectors.size(); ++i) {
      invariant(recording.vectors[i].size() == rows * format.vectors[i].names.size(),
                "a row of values a frame");
    }
  }

  std::int64_t task_index(const std::string& task) {
    const auto found = std::find(tasks.begin(), tasks.end(), task);
    const auto index = found - tasks.begin();
    if (found == tasks.end()) tasks.push_back(task);
    return index;
  }

  PictureColumn picture_column(const std::vector<std::uint8_t>& pictures, PictureSize size) const {
    PictureColumn column;
    const std::size_t bytes = picture_bytes(size);
    for (std::size_t frame = 0; frame * bytes < pictures.size(); ++frame) {
      column.files.push_back(encode_png(pictures.data() + frame * bytes, size));
      column.names.push_back(fmt::format("frame_{:06d}.png", frame));
    }
    return column;
  }

  void write_video(const Camera& camera, const std::vector<std::uint8_t>& pictures) const {
    const path file = root / video_file(camera.key, episodes);
    std::filesystem::create_directories(file.parent_path());
    VideoFile video(file, encoder, camera.size, format.fps);
    const std::size_t bytes = picture_bytes(camera.size);
    for (std::size_t at = 0; at < pictures.size(); at += bytes) video.add(pictures.data() + at);
    video.finish();
  }

  // The five columns that every LeRobot table has.
  std::vector<TableColumn> automatic_columns(std::int64_t rows, std::int64_t task) const {
    FloatColumn timestamp;
    std::array<IntegerColumn, kCountedColumns.size()> counted;
    for (std::int64_t row = 0; row < rows; ++row) {
      timestamp.values.push_back(static_cast<float>(row) / static_cast<float>(format.fps));
      const std::array values{row, episodes, frames + row, task};
      for (std::size_t i = 0; i < values.size(); ++i) counted[i].values.push_back(values[i]);
    }
    std::vector<TableColumn> columns{{"timestamp", timestamp}};
    for (std::size_t i = 0; i < counted.size(); ++i) {
      columns.push_back({kCountedColumns[i], counted[i]});
    }
    return columns;
  }

  // Writes the videos, returns the table's columns and fills the statistics of all features.
  std::vector<TableColumn> record(const Recording& recording, ordered_json& statistics) {
    std::vector<TableColumn> columns;
    for (std::size_t i = 0; i < format.cameras.size(); ++i) {
      const Camera& camera = format.cameras[i];
      const auto& pictures = recording.pictures_THWC[i];
      statistics[camera.key] = to_picture_json(
          picture_statistics(pictures, std::int64_t{camera.size.height} * camera.size.width));
      if (format.pictures == PictureLayout::kMp4) {
        write_video(camera, pictures);
      } else {
        columns.push_back({camera.key, picture_column(pictures, camera.size)});
      }
    }
    for (std::size_t i = 0; i < format.vectors.size(); ++i) {
      const Vector& vector = format.vectors[i];
      const std::size_t width = vector.names.size();
      statistics[vector.key] = to_json(column_statistics(widened(recording.vectors[i]), width));
      columns.push_back(
          {vector.key, FloatColumn{recording.vectors[i], static_cast<std::int64_t>(width)}});
    }
    for (auto& column : automatic_columns(recording.frames, task_index(recording.task))) {
      const auto* integers = std::get_if<IntegerColumn>(&column.content);
      const auto values = integers != nullptr
                              ? widened(integers->values)
                              : widened(std::get<FloatColumn>(column.content).values);
      statistics[column.name] = to_json(column_statistics(values, 1));
      columns.push_back(std::move(column));
    }
    return columns;
  }

  ordered_json features() const {
    ordered_json out;
    for (const Camera& camera : format.cameras) {
      out[camera.key] = camera_feature(camera, format, encoder.codec);
    }
    for (const Vector& vector : format.vectors) {
      out[vector.key] = {
          {"dtype", "float32"}, {"shape", {vector.names.size()}}, {"names", vector.names}};
    }
    out["timestamp"] = {{"dtype", "float32"}, {"shape", {1}}, {"names", nullptr}};
    for (const char* name : kCountedColumns) {
      out[name] = {{"dtype", "int64"}, {"shape", {1}}, {"names", nullptr}};
    }
    return out;
  }

  ordered_json info() const {
    const bool video = format.pictures == PictureLayout::kMp4;
    const auto cameras = static_cast<std::int64_t>(format.cameras.size());
    return {{"codebase_version", "v2.1"},
            {"robot_type", format.robot_type},
            {"total_episodes", episodes},
            {"total_frames", frames},
            {"total_tasks", tasks.size()},
            {"total_videos", video ? episodes * cameras : 0},
            {"total_chunks", (episodes + kEpisodesInChunk - 1) / kEpisodesInChunk},
            {"chunks_size", kEpisodesInChunk},
            {"fps", format.fps},
            {"splits", {{"train", fmt::format("0:{}", episodes)}}},
            {"data_path", kDataPath},
            {"video_path", video ? ordered_json(kVideoPath) : ordered_json(nullptr)},
            {"features", features()}};
  }
};

Writer::Writer(path root, Format format) : impl_(std::make_unique<Impl>()) {
  impl_->root = std::move(root);
  impl_->format = std::move(format);
  if (impl_->format.pictures == PictureLayout::kMp4) {
    impl_->encoder = choose_video_encoder(impl_->format.video_encoder);
  }
}

Writer::~Writer() = default;

void Writer::add(const Recording& recording) {
  impl_->check(recording);
  ordered_json statistics;
  const auto columns = impl_->record(recording, statistics);
  const path file = impl_->root / data_file(impl_->episodes);
  std::filesystem::create_directories(file.parent_path());
  write_table(file, columns);
  const ordered_json episode{{"episode_index", impl_->episodes},
                             {"tasks", {recording.task}},
                             {"length", recording.frames}};
  const ordered_json stats{{"episode_index", impl_->episodes}, {"stats", statistics}};
  impl_->episode_lines += episode.dump() + "\n";
  impl_->statistics_lines += stats.dump() + "\n";
  ++impl_->episodes;
  impl_->frames += recording.frames;
}

void Writer::finish() {
  const path meta = impl_->root / "meta";
  std::filesystem::create_directories(meta);
  std::string task_lines;
  for (std::size_t i = 0; i < impl_->tasks.size(); ++i) {
    const ordered_json task{{"task_index", i}, {"task", impl_->tasks[i]}};
    task_lines += task.dump() + "\n";
  }
  write_file_atomically(meta / "tasks.jsonl", task_lines);
  write_file_atomically(meta / "episodes.jsonl", impl_->episode_lines);
  write_file_atomically(meta / "episodes_stats.jsonl", impl_->statistics_lines);
  constexpr int kIndent = 4;
  write_file_atomically(meta / "info.json", impl_->info().dump(kIndent) + "\n");
}

std::int64_t Writer::frames() const noexcept {
  return impl_->frames;
}
const VideoEncoder& Writer::video_encoder() const noexcept {
  return impl_->encoder;
}

}  // namespace wam::lerobot_writer
