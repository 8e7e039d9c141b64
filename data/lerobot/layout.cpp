#include "data/lerobot/layout.h"

#include <optional>

#include "core/base/errors.h"
#include "data/lerobot/path_template.h"

namespace wam {
namespace {

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

  [[nodiscard]] TableSpan table(const LeRobotEpisode& episode) const override {
    return {root_ / data_.fill(numbers(episode)), 0, -1};
  }

  [[nodiscard]] VideoSpan video(const LeRobotEpisode& episode,
                                const std::string& camera) const override {
    require<DataError>(video_.has_value(),
                       "LeRobot dataset {}: '{}' is a video, and info.json has no video_path. Fix: "
                       "restore info.json from the dataset's source.",
                       root_.string(), camera);
    return {root_ / video_->fill(numbers(episode), {{"video_key", camera}}), 0};
  }

 private:
  static std::string where(const LeRobotMeta& meta, const char* field) {
    return fmt::format("{}, {}", (meta.root / "meta" / "info.json").string(), field);
  }
  [[nodiscard]] std::map<std::string, std::int64_t> numbers(const LeRobotEpisode& episode) const {
    return {{"episode_chunk", episode.number / chunks_size_}, {"episode_index", episode.number}};
  }

  std::filesystem::path root_;
  std::int64_t chunks_size_;
  PathTemplate data_;
  std::optional<PathTemplate> video_;
};

}  // namespace

std::unique_ptr<LeRobotLayout> make_layout(const LeRobotMeta& meta) {
  return std::make_unique<FilePerEpisode>(meta);
}

}  // namespace wam
