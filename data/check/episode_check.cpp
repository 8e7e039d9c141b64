#include "data/check/episode_check.h"

#include <algorithm>

#include <fmt/core.h>

#include "core/base/data_errors.h"
#include "data/check/clocks.h"
#include "data/normalise/compute.h"
#include "data/video/video_index.h"

namespace wam {
namespace {

class EpisodeChecker {
 public:
  EpisodeChecker(const EpisodeCheckContext& context, std::int64_t episode_idx)
      : context_(context), reader_(*context.reader), episode_idx_(episode_idx) {}

  EpisodeCheck run() {
    try {
      read_table();
      out_.is_readable = true;
    } catch (const DataError& error) {
      add_error(FaultKind::kTable, Effect::kStart, clocks_.table, error);
    }
    for (const auto& camera : context_.binding->cameras) open_video(camera);
    if (out_.is_readable) add_clocks();
    for (Fault& fault : out_.faults) fault.episode = reader_.episode_number(episode_idx_);
    return std::move(out_);
  }

 private:
  void add_error(FaultKind kind, Effect effect, const std::string& file, const DataError& error) {
    auto text = error_text(error.what(), reader_.meta().root.string(), file);
    out_.faults.push_back(
        {kind, effect, file, {}, {}, std::move(text.message), std::move(text.fix)});
  }

  void read_table() {
    clocks_.table = table_name(reader_, episode_idx_);
    clocks_.fps = reader_.meta().info.fps;
    clocks_.length = reader_.episode_length(episode_idx_);
    out_.rows = read_slices(context_, episode_idx_);
    const auto facts = read_episode_facts(reader_, *context_.binding, episode_idx_);
    out_.windows = windows_of(reader_, episode_idx_, facts, *context_.rule, context_.instructions);
    if (reader_.has_column(episode_idx_, "timestamp")) {
      clocks_.rows.time_s = numbers<double>("timestamp", at::kDouble);
    }
    if (reader_.has_column(episode_idx_, "frame_index")) {
      clocks_.rows.frame_index = numbers<std::int64_t>("frame_index", at::kLong);
    }
  }

  template <class T>
  std::vector<T> numbers(const char* column, at::ScalarType type) {
    const at::Tensor values =
        reader_.read_column(episode_idx_, column).select(1, 0).to(type).contiguous();
    const T* data = values.const_data_ptr<T>();
    return {data, data + values.numel()};
  }

  void open_video(const std::string& camera) {
    out_.camera_is_there.push_back(true);
    std::string file;
    try {
      const auto path = reader_.video_file(episode_idx_, camera);
      if (path.empty()) return;  // its pictures are in the table
      file = path.lexically_relative(reader_.meta().root).string();
      auto video = reader_.video(episode_idx_, camera);
      check_size(camera, file, *video.index);
      clocks_.videos.push_back({file, std::move(video)});
      places_.push_back(out_.camera_is_there.size() - 1);
    } catch (const ReadError& error) {
      add_error(FaultKind::kMissingVideo, Effect::kReadError, file, error);
      out_.camera_is_there.back() = false;
    } catch (const DataError& error) {
      add_error(FaultKind::kUnreadableVideo, Effect::kBadSample, file, error);
      out_.camera_is_there.back() = false;
    }
  }

  void check_size(const std::string& camera, const std::string& file, const VideoIndex& index) {
    const PictureSize size{index.height, index.width};
    if (!context_.size || size == *context_.size) return;
    out_.camera_is_there.back() = false;
    out_.faults.push_back(
        {FaultKind::kPictureSize,
         Effect::kBadSample,
         file,
         {},
         {},
         fmt::format("pictures of {} are {}x{}, those of the dataset {}x{}", camera, size.height,
                     size.width, context_.size->height, context_.size->width),
         "scale the videos to one size, or leave the episode out"});
  }

  void add_clocks() {
    for (Fault& fault : check_clocks(clocks_)) {
      for (std::size_t v = 0; v < clocks_.videos.size(); ++v) {
        const bool is_bad = fault.effect != Effect::kNone && clocks_.videos[v].file == fault.file;
        if (is_bad) out_.camera_is_there[places_[v]] = false;
      }
      out_.faults.push_back(std::move(fault));
    }
  }

  const EpisodeCheckContext& context_;
  const LeRobotReader& reader_;
  std::int64_t episode_idx_;
  EpisodeClocks clocks_;
  std::vector<std::size_t> places_;  // of clocks_.videos among the cameras
  EpisodeCheck out_;
};

}  // namespace

EpisodeCheck check_episode(const EpisodeCheckContext& context, std::int64_t episode_idx) {
  return EpisodeChecker(context, episode_idx).run();
}

std::vector<at::Tensor> read_slices(const EpisodeCheckContext& context, std::int64_t episode_idx) {
  std::vector<at::Tensor> rows;
  for (const auto* slices : {&context.binding->state, &context.binding->action}) {
    for (const auto& slice : *slices)
      rows.push_back(read_rows(*context.reader, episode_idx, slice));
  }
  return rows;
}

std::string table_name(const LeRobotReader& reader, std::int64_t episode_idx) {
  return reader.table_file(episode_idx).lexically_relative(reader.meta().root).string();
}

}  // namespace wam
