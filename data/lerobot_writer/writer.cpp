#include "data/lerobot_writer/writer.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "core/base/errors.h"
#include "core/io/atomic_file.h"
#include "data/lerobot_writer/dataset_files.h"

namespace wam::lerobot_writer {
namespace {

using nlohmann::ordered_json;
using std::filesystem::path;

constexpr std::array kCountedColumns{"frame_index", "episode_index", "index", "task_index"};

std::size_t picture_bytes(PictureSize size) {
  return static_cast<std::size_t>(size.height) * static_cast<std::size_t>(size.width) * 3;
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

ordered_json to_json(const NamedStatistics& statistics) {
  const FeatureStatistics& values = statistics.values;
  ordered_json out{{"min", values.min},
                   {"max", values.max},
                   {"mean", values.mean},
                   {"std", values.std},
                   {"count", {values.count}}};
  if (!statistics.is_picture) return out;
  for (const char* name : {"min", "max", "mean", "std"}) {
    ordered_json nested = ordered_json::array();
    for (const auto& value : out[name]) nested.push_back({{value}});
    out[name] = nested;
  }
  return out;
}

void add_pictures(VideoFile& video,
                  const std::vector<std::uint8_t>& pictures_THWC,
                  PictureSize size) {
  const std::size_t bytes = picture_bytes(size);
  for (std::size_t at = 0; at < pictures_THWC.size(); at += bytes) {
    video.add(pictures_THWC.data() + at);
  }
}

struct Writer::Impl {
  path root;
  Format format;
  VideoEncoder encoder;
  std::vector<std::string> tasks;
  std::unique_ptr<DatasetFiles> files;
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
  std::vector<TableColumn> record(const Recording& recording,
                                  std::vector<NamedStatistics>& statistics) {
    std::vector<TableColumn> columns;
    for (std::size_t i = 0; i < format.cameras.size(); ++i) {
      const Camera& camera = format.cameras[i];
      const auto& pictures = recording.pictures_THWC[i];
      const std::int64_t pixels = std::int64_t{camera.size.height} * camera.size.width;
      statistics.push_back({camera.key, picture_statistics(pictures, pixels), true});
      if (format.pictures == PictureLayout::kMp4) {
        files->add_video(i, pictures);
      } else {
        columns.push_back({camera.key, picture_column(pictures, camera.size)});
      }
    }
    for (std::size_t i = 0; i < format.vectors.size(); ++i) {
      const Vector& vector = format.vectors[i];
      const std::size_t width = vector.names.size();
      statistics.push_back(
          {vector.key, column_statistics(widened(recording.vectors[i]), width), false});
      columns.push_back(
          {vector.key, FloatColumn{recording.vectors[i], static_cast<std::int64_t>(width)}});
    }
    for (auto& column : automatic_columns(recording.frames, task_index(recording.task))) {
      const auto* integers = std::get_if<IntegerColumn>(&column.content);
      const auto values = integers != nullptr
                              ? widened(integers->values)
                              : widened(std::get<FloatColumn>(column.content).values);
      statistics.push_back({column.name, column_statistics(values, 1), false});
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
};

Writer::Writer(path root, Format format) : impl_(std::make_unique<Impl>()) {
  impl_->root = std::move(root);
  impl_->format = std::move(format);
  if (impl_->format.pictures == PictureLayout::kMp4) {
    impl_->encoder = choose_video_encoder(impl_->format.video_encoder);
  }
  const auto make = impl_->format.version == Version::k30 ? make_shared_files : make_episode_files;
  impl_->files = make(impl_->root, impl_->format, impl_->encoder);
}

Writer::~Writer() = default;

void Writer::add(const Recording& recording) {
  impl_->check(recording);
  std::vector<NamedStatistics> statistics;
  impl_->files->add_rows(impl_->record(recording, statistics));
  impl_->files->end_episode(recording, statistics);
  ++impl_->episodes;
  impl_->frames += recording.frames;
}

void Writer::finish() {
  const path meta = impl_->root / "meta";
  std::filesystem::create_directories(meta);
  ordered_json info = impl_->files->finish(impl_->tasks);
  info["features"] = impl_->features();
  constexpr int kIndent = 4;
  write_file_atomically(meta / "info.json", info.dump(kIndent) + "\n");
}

std::int64_t Writer::frames() const noexcept {
  return impl_->frames;
}
const VideoEncoder& Writer::video_encoder() const noexcept {
  return impl_->encoder;
}

}  // namespace wam::lerobot_writer
