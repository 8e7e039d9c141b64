#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include "core/io/atomic_file.h"
#include "data/lerobot_writer/dataset_files.h"

namespace wam::lerobot_writer {
namespace {

using nlohmann::ordered_json;
using std::filesystem::path;

constexpr const char* kDataPath = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet";
constexpr const char* kVideoPath =
    "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4";
constexpr std::int64_t kMegabyte = 1'000'000;

// Files of one kind: chunks of numbered files, of which the last one grows.
template <class File>
struct Series {
  std::int64_t number = -1;  // over all chunks
  std::unique_ptr<File> open;

  void close() {
    if (open) open->finish();
    open.reset();
  }
  // Whether the next episode begins a new file.
  [[nodiscard]] bool is_full(std::int64_t limit) const { return !open || open->bytes() >= limit; }
};

// What the list says of an episode's place in one series.
struct PlaceColumns {
  IntegerColumn chunk;
  IntegerColumn file;
};

class SharedFiles final : public DatasetFiles {
 public:
  SharedFiles(path root, const Format& format, VideoEncoder encoder)
      : root_(std::move(root)),
        format_(format),
        encoder_(std::move(encoder)),
        videos_(format.cameras.size()) {}

  void add_video(std::size_t camera, const std::vector<std::uint8_t>& pictures_THWC) override {
    const Camera& of = format_.cameras[camera];
    Video& video = videos_[camera];
    if (video.files.is_full(format_.video_file_bytes)) {
      video.files.close();
      const path file = next_file(video.files.number, "videos/" + of.key, "mp4");
      video.files.open = std::make_unique<VideoFile>(file, encoder_, of.size, format_.fps);
      video.frames = 0;
    }
    note_place(video.place, video.files.number);
    video.from.values.push_back(seconds(video.frames));
    video.files.open->begin_episode();
    add_pictures(*video.files.open, pictures_THWC, of.size);
    video.frames +=
        static_cast<std::int64_t>(pictures_THWC.size()) / (of.size.height * of.size.width * 3);
    video.to.values.push_back(seconds(video.frames));
  }

  void add_rows(const std::vector<TableColumn>& columns) override {
    if (tables_.is_full(format_.data_file_bytes)) {
      tables_.close();
      tables_.open = std::make_unique<TableFile>(next_file(tables_.number, "data", "parquet"),
                                                 TableKind::kRows);
    }
    note_place(table_place_, tables_.number);
    tables_.open->add(columns, TableFile::kOneGroup);
  }

  void end_episode(const Recording& recording,
                   const std::vector<NamedStatistics>& statistics) override {
    episode_.values.push_back(static_cast<std::int64_t>(episode_.values.size()));
    tasks_.values.push_back({recording.task});
    length_.values.push_back(recording.frames);
    from_.values.push_back(frames_);
    frames_ += recording.frames;
    to_.values.push_back(frames_);
    for (const auto& feature : statistics) {
      const auto [known, is_new] = statistics_.emplace(feature.feature, feature);
      if (!is_new) known->second.values = pooled(known->second.values, feature.values);
    }
  }

  ordered_json finish(const std::vector<std::string>& tasks) override {
    tables_.close();
    for (auto& video : videos_) video.files.close();
    write_lists(tasks);
    ordered_json statistics;
    for (const auto& [name, feature] : statistics_) statistics[name] = to_json(feature);
    constexpr int kIndent = 4;
    write_file_atomically(root_ / "meta/stats.json", statistics.dump(kIndent) + "\n");
    const bool video = format_.pictures == PictureLayout::kMp4;
    return {
        {"codebase_version", "v3.0"},
        {"robot_type", format_.robot_type},
        {"total_episodes", episode_.values.size()},
        {"total_frames", frames_},
        {"total_tasks", tasks.size()},
        {"chunks_size", format_.files_in_chunk},
        {"data_files_size_in_mb", std::max<std::int64_t>(1, format_.data_file_bytes / kMegabyte)},
        {"video_files_size_in_mb", std::max<std::int64_t>(1, format_.video_file_bytes / kMegabyte)},
        {"fps", format_.fps},
        {"splits", {{"train", fmt::format("0:{}", episode_.values.size())}}},
        {"data_path", kDataPath},
        {"video_path", video ? ordered_json(kVideoPath) : ordered_json(nullptr)}};
  }

 private:
  struct Video {
    Series<VideoFile> files;
    std::int64_t frames = 0;  // in the open file
    PlaceColumns place;
    DoubleColumn from;
    DoubleColumn to;
  };

  [[nodiscard]] double seconds(std::int64_t frames) const {
    return static_cast<double>(frames) / format_.fps;
  }

  path next_file(std::int64_t& number, const std::string& folder, const char* extension) const {
    ++number;
    path file = root_ / folder /
                fmt::format("chunk-{:03d}/file-{:03d}.{}", number / format_.files_in_chunk,
                            number % format_.files_in_chunk, extension);
    std::filesystem::create_directories(file.parent_path());
    return file;
  }

  void note_place(PlaceColumns& place, std::int64_t number) const {
    place.chunk.values.push_back(number / format_.files_in_chunk);
    place.file.values.push_back(number % format_.files_in_chunk);
  }

  void write_lists(const std::vector<std::string>& tasks) const {
    const IntegerColumn zeros{std::vector<std::int64_t>(episode_.values.size(), 0)};
    std::vector<TableColumn> columns = {{"episode_index", episode_},
                                        {"tasks", tasks_},
                                        {"length", length_},
                                        {"data/chunk_index", table_place_.chunk},
                                        {"data/file_index", table_place_.file},
                                        {"dataset_from_index", from_},
                                        {"dataset_to_index", to_}};
    for (std::size_t i = 0; i < videos_.size() && format_.pictures == PictureLayout::kMp4; ++i) {
      const std::string start = "videos/" + format_.cameras[i].key + "/";
      columns.push_back({start + "chunk_index", videos_[i].place.chunk});
      columns.push_back({start + "file_index", videos_[i].place.file});
      columns.push_back({start + "from_timestamp", videos_[i].from});
      columns.push_back({start + "to_timestamp", videos_[i].to});
    }
    columns.push_back({"meta/episodes/chunk_index", zeros});
    columns.push_back({"meta/episodes/file_index", zeros});
    const path list = root_ / "meta/episodes/chunk-000/file-000.parquet";
    std::filesystem::create_directories(list.parent_path());
    TableFile episodes(list, TableKind::kList);
    episodes.add(columns, TableFile::kOneGroup);
    episodes.finish();
    IntegerColumn index;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      index.values.push_back(static_cast<std::int64_t>(i));
    }
    TableFile task_table(root_ / "meta/tasks.parquet", TableKind::kTasks);
    task_table.add({{"task_index", index}, {"task", TextColumn{tasks}}}, TableFile::kOneGroup);
    task_table.finish();
  }

  path root_;
  const Format& format_;
  VideoEncoder encoder_;
  std::vector<Video> videos_;
  Series<TableFile> tables_;
  PlaceColumns table_place_;
  IntegerColumn episode_;
  TextListColumn tasks_;
  IntegerColumn length_;
  IntegerColumn from_;
  IntegerColumn to_;
  std::int64_t frames_ = 0;
  std::map<std::string, NamedStatistics> statistics_;
};

}  // namespace

std::unique_ptr<DatasetFiles> make_shared_files(path root,
                                                const Format& format,
                                                const VideoEncoder& encoder) {
  return std::make_unique<SharedFiles>(std::move(root), format, encoder);
}

}  // namespace wam::lerobot_writer
