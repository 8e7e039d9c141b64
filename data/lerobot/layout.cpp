#include "data/lerobot/layout.h"

#include <algorithm>
#include <optional>

#include "core/base/errors.h"
#include "data/lerobot/path_template.h"

namespace wam {
namespace {

std::string where(const LeRobotMeta& meta, const char* field) {
  return fmt::format("{}, {}", (meta.root / "meta" / "info.json").string(), field);
}

void check_video_path(bool is_there, const std::filesystem::path& root, const std::string& camera) {
  require<DataError>(is_there,
                     "LeRobot dataset {}: '{}' is a video, and info.json has no video_path. Fix: "
                     "restore info.json from the dataset's source.",
                     root.string(), camera);
}

std::map<std::string, std::int64_t> numbers_of(LeRobotFileNumber at) {
  return {{"chunk_index", at.chunk}, {"file_index", at.file}};
}

PathTemplate shared_table_path(const LeRobotMeta& meta) {
  return {meta.info.data_path, {"chunk_index", "file_index"}, where(meta, "data_path")};
}

// v2.0, v2.1: chunk C holds episodes [C * chunks_size, (C + 1) * chunks_size), one file each.
class FilePerEpisode final : public LeRobotLayout {
 public:
  explicit FilePerEpisode(const LeRobotMeta& meta)
      : root_(meta.root),
        chunks_size_(meta.info.chunks_size),
        data_(meta.info.data_path, {"episode_chunk", "episode_index"}, where(meta, "data_path")) {
    if (meta.info.video_path.empty()) return;
    video_.emplace(meta.info.video_path,
                   std::vector<std::string>{"episode_chunk", "episode_index", "video_key"},
                   where(meta, "video_path"));
  }

  [[nodiscard]] std::filesystem::path table(const LeRobotEpisode& episode) const override {
    return root_ / data_.fill(numbers(episode));
  }

  [[nodiscard]] VideoSpan video(const LeRobotEpisode& episode,
                                const std::string& camera) const override {
    check_video_path(video_.has_value(), root_, camera);
    return {root_ / video_->fill(numbers(episode), {{"video_key", camera}}), 0, 0, 0};
  }

 private:
  [[nodiscard]] std::map<std::string, std::int64_t> numbers(const LeRobotEpisode& episode) const {
    return {{"episode_chunk", episode.number / chunks_size_}, {"episode_index", episode.number}};
  }

  std::filesystem::path root_;
  std::int64_t chunks_size_;
  PathTemplate data_;
  std::optional<PathTemplate> video_;
};

// v3.0: chunks of files of many episodes; every camera has its own numbers.
class SharedFiles final : public LeRobotLayout {
 public:
  explicit SharedFiles(const LeRobotMeta& meta)
      : root_(meta.root), videos_(meta.videos), data_(shared_table_path(meta)) {
    if (meta.info.video_path.empty()) return;
    video_.emplace(meta.info.video_path,
                   std::vector<std::string>{"chunk_index", "file_index", "video_key"},
                   where(meta, "video_path"));
  }

  [[nodiscard]] std::filesystem::path table(const LeRobotEpisode& episode) const override {
    return root_ / data_.fill(numbers_of(episode.table));
  }

  [[nodiscard]] VideoSpan video(const LeRobotEpisode& episode,
                                const std::string& camera) const override {
    check_video_path(video_.has_value(), root_, camera);
    const auto found = std::find(videos_.begin(), videos_.end(), camera);
    invariant(found != videos_.end(), "a camera of the dataset");
    const auto& place = episode.videos[static_cast<std::size_t>(found - videos_.begin())];
    require<DataError>(place.file_frames > 0,
                       "the episode list does not say in which file '{}' lies (no columns "
                       "videos/{}/...). Fix: restore meta/episodes from the dataset's source.",
                       camera, camera);
    return {root_ / video_->fill(numbers_of(place.file), {{"video_key", camera}}), place.from_s,
            place.first_frame, place.file_frames};
  }

 private:
  std::filesystem::path root_;
  std::vector<std::string> videos_;
  PathTemplate data_;
  std::optional<PathTemplate> video_;
};

}  // namespace

std::vector<std::filesystem::path> shared_table_files(const LeRobotMeta& meta) {
  LeRobotFileNumber last;
  for (const LeRobotEpisode& episode : meta.episodes) last = std::max(last, episode.table);
  const PathTemplate path = shared_table_path(meta);
  std::vector<std::filesystem::path> files;
  for (LeRobotFileNumber at;; at = {at.chunk + 1, 0}) {
    const std::size_t before = files.size();
    for (;; ++at.file) {
      auto file = meta.root / path.fill(numbers_of(at));
      if (std::filesystem::exists(file)) {
        files.push_back(std::move(file));
      } else if (at > last || at.file >= meta.info.chunks_size) {
        break;
      }
    }
    if (files.size() == before && at.chunk >= last.chunk) return files;
  }
}

std::unique_ptr<LeRobotLayout> make_layout(const LeRobotMeta& meta) {
  if (meta.info.is_v3()) return std::make_unique<SharedFiles>(meta);
  return std::make_unique<FilePerEpisode>(meta);
}

}  // namespace wam
