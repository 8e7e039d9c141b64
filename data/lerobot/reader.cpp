#include "data/lerobot/reader.h"

#include <algorithm>
#include <utility>

#include "core/base/data_errors.h"
#include "core/base/names.h"
#include "data/lerobot/episode_rows.h"
#include "data/lerobot/layout.h"
#include "data/lerobot/open_files.h"
#include "data/lerobot/shown_frame.h"
#include "data/picture_memory/picture_memory.h"
#include "data/video/picture.h"

namespace wam {
namespace {

LeRobotMeta filtered_meta(const std::filesystem::path& root, const EpisodeFilter& filter) {
  LeRobotMeta meta = read_lerobot_meta(root);
  apply(filter, meta);
  return meta;
}

std::string trimmed(const std::string& text) {
  constexpr const char* kSpace = " \t\r\n\f\v";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

at::Tensor stack_pictures(const std::vector<at::Tensor>& picture_HWC, const std::string& camera) {
  const at::Tensor& first = picture_HWC.front();
  at::Tensor out_THWC = picture_memory(
      {static_cast<std::int64_t>(picture_HWC.size()), first.size(0), first.size(1), 3});
  for (std::size_t t = 0; t < picture_HWC.size(); ++t) {
    require<DataError>(
        picture_HWC[t].sizes() == first.sizes(),
        "pictures of camera '{}' have different sizes ({}x{} and {}x{}). Fix: write the "
        "dataset again with one size per camera.",
        camera, first.size(1), first.size(0), picture_HWC[t].size(1), picture_HWC[t].size(0));
    out_THWC.select(0, static_cast<std::int64_t>(t)).copy_(picture_HWC[t]);
  }
  return out_THWC;
}

}  // namespace

struct LeRobotReader::Impl {
  Impl(const std::filesystem::path& root,
       const EpisodeFilter& filter_,
       std::shared_ptr<OpenFiles> files_)
      : filter(filter_),
        meta(filtered_meta(root, filter)),
        layout(make_layout(meta)),
        files(files_ ? std::move(files_) : std::make_shared<OpenFiles>()),
        episode_rows(meta, *layout, files->tables) {}

  EpisodeFilter filter;
  LeRobotMeta meta;
  std::unique_ptr<LeRobotLayout> layout;
  std::shared_ptr<OpenFiles> files;
  EpisodeRows episode_rows;

  [[nodiscard]] const LeRobotEpisode& episode(std::int64_t episode_idx) const;
  std::int64_t length_of(std::int64_t episode_idx);
  TableRows rows_of(std::int64_t episode_idx) {
    return episode_rows.of(static_cast<std::size_t>(episode_idx));
  }
  at::Tensor table_pictures(const TableRows& rows,
                            const std::string& camera,
                            std::span<const std::int64_t> frames);
  EpisodeVideo video_of(std::int64_t episode_idx, const std::string& camera);
  VideoFrames video_frames(std::int64_t episode_idx,
                           const std::string& camera,
                           std::span<const std::int64_t> frames);
  // Errors: InvariantError for a name that is no camera.
  [[nodiscard]] bool is_video(const std::string& camera) const;
  void check_frames(std::int64_t episode_idx,
                    std::int64_t length,
                    std::span<const std::int64_t> frames) const;

  // Runs `action`; its DataErrors get the dataset, the episode and `what` in front. Those that are
  // not about reading are about what was read.
  template <class F>
  auto in_episode(std::int64_t episode_idx, const std::string& what, F&& action) {
    const auto placed = [&](const DataError& e) {
      return fmt::format("LeRobot dataset {}, episode {}{}: {}", meta.root.string(),
                         episode(episode_idx).number, what, e.what());
    };
    try {
      return action();
    } catch (const ReadError& e) {
      throw ReadError(placed(e));
    } catch (const DataError& e) {
      throw ContentError(placed(e));
    }
  }
};

const LeRobotEpisode& LeRobotReader::Impl::episode(std::int64_t episode_idx) const {
  invariant(episode_idx >= 0 && episode_idx < static_cast<std::int64_t>(meta.episodes.size()),
            "episode_idx is out of range");
  return meta.episodes[static_cast<std::size_t>(episode_idx)];
}

std::int64_t LeRobotReader::Impl::length_of(std::int64_t episode_idx) {
  const LeRobotEpisode& e = episode(episode_idx);
  return e.length ? *e.length : rows_of(episode_idx).num_rows;
}

at::Tensor LeRobotReader::Impl::table_pictures(const TableRows& rows,
                                               const std::string& camera,
                                               std::span<const std::int64_t> frames) {
  PictureDecoder decoder;
  std::vector<at::Tensor> picture_HWC;
  for (const std::int64_t frame : frames) {
    picture_HWC.push_back(
        decoder.decode(*files->tables.picture(rows, camera, frame),
                       fmt::format("frame {} in column '{}' of {}", frame, camera, rows.path)));
  }
  return stack_pictures(picture_HWC, camera);
}

EpisodeVideo LeRobotReader::Impl::video_of(std::int64_t episode_idx, const std::string& camera) {
  VideoSpan span = layout->video(episode(episode_idx), camera);
  if (span.file_frames == 0) span.file_frames = length_of(episode_idx);
  auto index = files->videos.index(span.path);
  return {std::move(span), std::move(index)};
}

VideoFrames LeRobotReader::Impl::video_frames(std::int64_t episode_idx,
                                              const std::string& camera,
                                              std::span<const std::int64_t> frames) {
  check_frames(episode_idx, length_of(episode_idx), frames);
  const auto [span, video] = video_of(episode_idx, camera);
  std::vector<std::int64_t> ordinals(frames.begin(), frames.end());
  if (video->num_frames() == span.file_frames) {
    for (auto& ordinal : ordinals) ordinal += span.first_frame;
  } else {
    const at::Tensor time_L =
        files->tables.numbers(rows_of(episode_idx), "timestamp").to(at::kDouble).contiguous();
    for (auto& ordinal : ordinals) {
      ordinal = frame_shown_at(*video, span, ordinal, time_L.const_data_ptr<double>()[ordinal],
                               meta.info.fps);
    }
  }
  return {span.path, std::move(ordinals)};
}

bool LeRobotReader::Impl::is_video(const std::string& camera) const {
  const LeRobotFeature* feature = meta.info.feature(camera);
  invariant(feature != nullptr && feature->is_camera(), "a camera of the dataset");
  return feature->dtype == "video";
}

void LeRobotReader::Impl::check_frames(std::int64_t episode_idx,
                                       std::int64_t length,
                                       std::span<const std::int64_t> frames) const {
  for (const std::int64_t frame : frames) {
    require<InvariantError>(frame >= 0 && frame < length,
                            "frame {} of episode {} was asked for, which has {} frames", frame,
                            episode(episode_idx).number, length);
  }
}

LeRobotReader::LeRobotReader(const std::filesystem::path& root,
                             const EpisodeFilter& filter,
                             std::shared_ptr<OpenFiles> files)
    : impl_(std::make_unique<Impl>(root, filter, std::move(files))) {}
LeRobotReader::~LeRobotReader() = default;

const EpisodeFilter& LeRobotReader::filter() const noexcept {
  return impl_->filter;
}

const LeRobotMeta& LeRobotReader::meta() const noexcept {
  return impl_->meta;
}

std::int64_t LeRobotReader::num_episodes() const noexcept {
  return static_cast<std::int64_t>(impl_->meta.episodes.size());
}

std::int64_t LeRobotReader::episode_number(std::int64_t episode_idx) const {
  return impl_->episode(episode_idx).number;
}

std::int64_t LeRobotReader::episode_length(std::int64_t episode_idx) const {
  return impl_->in_episode(episode_idx, "", [&] { return impl_->length_of(episode_idx); });
}

const std::string& LeRobotReader::task_text(std::int64_t task_index) const {
  const auto found = impl_->meta.tasks.find(task_index);
  require<DataError>(found != impl_->meta.tasks.end(),
                     "LeRobot dataset {}: the task list has no task {} ({} tasks are listed). Fix: "
                     "restore meta/tasks.jsonl from the dataset's source.",
                     impl_->meta.root.string(), task_index, impl_->meta.tasks.size());
  return found->second;
}

std::optional<std::string> LeRobotReader::instruction(std::int64_t task_index) const {
  const auto found = impl_->meta.tasks.find(task_index);
  if (found == impl_->meta.tasks.end()) return std::nullopt;
  return trimmed(found->second);
}

std::vector<std::filesystem::path> LeRobotReader::meta_files() const {
  return list_files(impl_->meta);
}

std::vector<std::filesystem::path> LeRobotReader::table_files() const {
  if (impl_->meta.info.is_v3()) return shared_table_files(impl_->meta);
  std::vector<std::filesystem::path> files;
  for (const LeRobotEpisode& e : impl_->meta.episodes) files.push_back(impl_->layout->table(e));
  return files;
}

std::vector<std::filesystem::path> LeRobotReader::video_files(const std::string& camera) const {
  const LeRobotFeature* feature = impl_->meta.info.feature(camera);
  if (feature == nullptr || feature->dtype != "video") return {};
  std::vector<std::filesystem::path> files;
  for (const LeRobotEpisode& e : impl_->meta.episodes) {
    files.push_back(impl_->layout->video(e, camera).path);
  }
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  return files;
}

std::filesystem::path LeRobotReader::table_file(std::int64_t episode_idx) const {
  return impl_->layout->table(impl_->episode(episode_idx));
}

std::filesystem::path LeRobotReader::video_file(std::int64_t episode_idx,
                                                const std::string& camera) const {
  if (!impl_->is_video(camera)) return {};
  return impl_->in_episode(episode_idx, fmt::format(", camera {}", camera), [&] {
    return impl_->layout->video(impl_->episode(episode_idx), camera).path;
  });
}

std::vector<TableColumn> LeRobotReader::table_columns(std::int64_t episode_idx) const {
  return impl_->in_episode(episode_idx, "",
                           [&] { return impl_->rows_of(episode_idx).table->columns(); });
}

std::vector<std::string> LeRobotReader::columns(std::int64_t episode_idx) const {
  std::vector<std::string> names;
  for (const TableColumn& column : table_columns(episode_idx)) names.push_back(column.name);
  return names;
}

bool LeRobotReader::has_column(std::int64_t episode_idx, const std::string& column) const {
  const auto names = columns(episode_idx);
  return std::find(names.begin(), names.end(), column) != names.end();
}

std::int64_t LeRobotReader::column_width(std::int64_t episode_idx,
                                         const std::string& column) const {
  return impl_->in_episode(episode_idx, "", [&] {
    TableRows rows = impl_->rows_of(episode_idx);
    rows.num_rows = std::min<std::int64_t>(rows.num_rows, 1);
    return impl_->files->tables.numbers(rows, column).size(1);
  });
}

void LeRobotReader::require_column(std::int64_t episode_idx, const ColumnSlice& slice) const {
  const std::int64_t width = column_width(episode_idx, slice.column);
  require<DataError>(
      0 <= slice.start && slice.start < slice.end && slice.end <= width,
      "LeRobot dataset {}, episode {}: values {} to {} of column '{}' are needed, its rows hold "
      "{}. Fix: correct meta/modality.json or meta/info.json.",
      impl_->meta.root.string(), episode_number(episode_idx), slice.start, slice.end, slice.column,
      width);
}

std::filesystem::path LeRobotReader::rows_file(std::int64_t episode_idx) const {
  return impl_->in_episode(episode_idx, "", [&] { return impl_->rows_of(episode_idx).path; });
}

at::Tensor LeRobotReader::read_column(std::int64_t episode_idx, const std::string& column) const {
  return impl_->in_episode(episode_idx, "", [&] {
    return impl_->files->tables.numbers(impl_->rows_of(episode_idx), column);
  });
}

at::Tensor LeRobotReader::read_column(std::int64_t episode_idx, const ColumnSlice& slice) const {
  const at::Tensor whole_LD = read_column(episode_idx, slice.column);
  require<DataError>(
      0 <= slice.start && slice.start < slice.end && slice.end <= whole_LD.size(1),
      "LeRobot dataset {}, episode {}: values {} to {} of column '{}' are needed, its "
      "rows hold {}. Fix: correct meta/modality.json or meta/info.json.",
      impl_->meta.root.string(), episode_number(episode_idx), slice.start, slice.end, slice.column,
      whole_LD.size(1));
  return whole_LD.narrow(1, slice.start, slice.width());
}

std::vector<std::string> LeRobotReader::read_strings(std::int64_t episode_idx,
                                                     const std::string& column) const {
  return impl_->in_episode(episode_idx, "", [&] {
    return impl_->files->tables.texts(impl_->rows_of(episode_idx), column);
  });
}

bool LeRobotReader::is_text_column(std::int64_t episode_idx, const std::string& column) const {
  return impl_->in_episode(episode_idx, "", [&] {
    return impl_->rows_of(episode_idx).table->column(column).kind == ColumnKind::kText;
  });
}

std::vector<std::string> LeRobotReader::read_language(std::int64_t episode_idx,
                                                      const std::string& column) const {
  std::vector<std::string> out;
  if (is_text_column(episode_idx, column)) {
    for (const std::string& text : read_strings(episode_idx, column)) out.push_back(trimmed(text));
    return out;
  }
  const at::Tensor index_L =
      read_column(episode_idx, column).select(1, 0).to(at::kLong).contiguous();
  for (std::int64_t row = 0; row < index_L.size(0); ++row) {
    out.push_back(trimmed(task_text(index_L.data_ptr<std::int64_t>()[row])));
  }
  return out;
}

at::Tensor LeRobotReader::read_frames(std::int64_t episode_idx,
                                      const std::string& camera,
                                      std::span<const std::int64_t> frames) const {
  invariant(!frames.empty(), "read_frames needs a frame at least");
  return impl_->in_episode(episode_idx, fmt::format(", camera {}", camera), [&] {
    if (impl_->is_video(camera)) {
      const VideoFrames video = impl_->video_frames(episode_idx, camera, frames);
      return impl_->files->videos.read_rgb(video.path, video.ordinals);
    }
    impl_->check_frames(episode_idx, episode_length(episode_idx), frames);
    return impl_->table_pictures(impl_->rows_of(episode_idx), camera, frames);
  });
}

std::optional<VideoFrames> LeRobotReader::video_frames(std::int64_t episode_idx,
                                                       const std::string& camera,
                                                       std::span<const std::int64_t> frames) const {
  if (!impl_->is_video(camera)) return std::nullopt;
  return impl_->in_episode(episode_idx, fmt::format(", camera {}", camera),
                           [&] { return impl_->video_frames(episode_idx, camera, frames); });
}

EpisodeVideo LeRobotReader::video(std::int64_t episode_idx, const std::string& camera) const {
  return impl_->in_episode(episode_idx, fmt::format(", camera {}", camera),
                           [&] { return impl_->video_of(episode_idx, camera); });
}

PictureSize LeRobotReader::picture_size(const std::string& camera) const {
  const std::int64_t first[] = {0};
  const at::Tensor frame_THWC = read_frames(0, camera, first);
  return {frame_THWC.size(1), frame_THWC.size(2)};
}

}  // namespace wam
