#include "data/lerobot/reader.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>

#include "core/base/errors.h"
#include "core/base/lru_cache.h"
#include "core/base/names.h"
#include "data/lerobot/layout.h"
#include "data/lerobot/parquet_table.h"
#include "data/video/picture.h"
#include "data/video/video_store.h"

namespace wam {
namespace {

// RLinf @ a3816b5, video_tolerance_s: how far a frame may be from where an even frame rate puts it.
constexpr double kMaxFrameTimeError_s = 0.1;

std::string trimmed(const std::string& text) {
  constexpr const char* kSpace = " \t\r\n\f\v";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

// An episode's rows in an opened table.
struct OpenTable {
  std::shared_ptr<const ParquetTable> table;
  std::string path;
  std::int64_t first_row = 0;
  std::int64_t num_rows = 0;
};

// Rows [first, end) of a row group.
struct GroupPart {
  std::size_t group = 0;
  std::int64_t first = 0;
  std::int64_t end = 0;
};

std::vector<GroupPart> parts_of(const OpenTable& table) {
  const auto& starts = table.table->row_starts();
  const std::int64_t last_row = table.first_row + table.num_rows;
  std::vector<GroupPart> parts;
  for (std::size_t g = 0; g + 1 < starts.size(); ++g) {
    const std::int64_t first = std::max(starts[g], table.first_row);
    const std::int64_t end = std::min(starts[g + 1], last_row);
    if (first < end) parts.push_back({g, first - starts[g], end - starts[g]});
  }
  return parts;
}

at::Tensor stack_pictures(const std::vector<at::Tensor>& picture_HWC, const std::string& camera) {
  const at::Tensor& first = picture_HWC.front();
  at::Tensor out_THWC = at::empty(
      {static_cast<std::int64_t>(picture_HWC.size()), first.size(0), first.size(1), 3}, at::kByte);
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

// Frame times must be those of an even rate: only then does the n-th frame belong to the n-th row.
void check_frame_times(const VideoIndex& video, std::int64_t first_ordinal, std::int64_t frame) {
  const double rate = video.average_rate();
  const std::int64_t ordinal = first_ordinal + frame;
  if (rate <= 0 || ordinal >= video.num_frames()) return;
  const double expected_s = static_cast<double>(frame) / rate;
  const double found_s = video.seconds(ordinal) - video.seconds(first_ordinal);
  require<DataError>(
      std::abs(found_s - expected_s) < kMaxFrameTimeError_s,
      "frame {} of the video {} is shown at {:.3f} s, an even {:.3f} frames per second "
      "would show it at {:.3f} s. Fix: encode the video with a constant frame rate.",
      frame, video.path.string(), found_s, rate, expected_s);
}

}  // namespace

struct LeRobotReader::Impl {
  using ChunkKey = std::pair<std::string, std::pair<std::string, std::size_t>>;

  Impl(const std::filesystem::path& root, const LeRobotReaderOptions& options)
      : meta(read_lerobot_meta(root)),
        layout(make_layout(meta)),
        tables(options.max_open_tables),
        chunks(options.column_cache_bytes),
        videos({options.max_idle_decoders, options.video_index_bytes}) {}

  LeRobotMeta meta;
  std::unique_ptr<LeRobotLayout> layout;
  LruCache<std::string, const ParquetTable> tables;
  LruCache<ChunkKey, const TableChunk> chunks;  // file, column, row group
  VideoStore videos;

  [[nodiscard]] const LeRobotEpisode& episode(std::int64_t episode_idx) const;
  std::shared_ptr<const ParquetTable> open(const std::string& path);
  OpenTable table_of(std::int64_t episode_idx);
  std::shared_ptr<const TableChunk> chunk(const OpenTable& table,
                                          const std::string& column,
                                          std::size_t group);
  at::Tensor numbers(const OpenTable& table, const std::string& column);
  std::vector<std::string> texts(const OpenTable& table, const std::string& column);
  at::Tensor table_pictures(const OpenTable& table,
                            const std::string& camera,
                            std::span<const std::int64_t> frames);
  at::Tensor video_frames(std::int64_t episode_idx,
                          const std::string& camera,
                          std::span<const std::int64_t> frames);
  void check_frames(std::int64_t episode_idx,
                    std::int64_t length,
                    std::span<const std::int64_t> frames) const;

  // Runs `action`; its DataErrors get the dataset, the episode and `what` in front.
  template <class F>
  auto in_episode(std::int64_t episode_idx, const std::string& what, F&& action) {
    try {
      return action();
    } catch (const DataError& e) {
      throw DataError(fmt::format("LeRobot dataset {}, episode {}{}: {}", meta.root.string(),
                                  episode(episode_idx).number, what, e.what()));
    }
  }
};

const LeRobotEpisode& LeRobotReader::Impl::episode(std::int64_t episode_idx) const {
  invariant(episode_idx >= 0 && episode_idx < static_cast<std::int64_t>(meta.episodes.size()),
            "episode_idx is out of range");
  return meta.episodes[static_cast<std::size_t>(episode_idx)];
}

std::shared_ptr<const ParquetTable> LeRobotReader::Impl::open(const std::string& path) {
  return tables.get(path, [&] {
    return LruCache<std::string, const ParquetTable>::Made{std::make_shared<ParquetTable>(path), 1};
  });
}

OpenTable LeRobotReader::Impl::table_of(std::int64_t episode_idx) {
  const LeRobotEpisode& e = episode(episode_idx);
  const TableSpan span = layout->table(e);
  OpenTable out{open(span.path.string()), span.path.string(), span.first_row, span.num_rows};
  if (out.num_rows < 0) out.num_rows = out.table->num_rows() - out.first_row;
  require<DataError>(!e.length || *e.length == out.num_rows,
                     "the episode list says {} frames, the table {} has {} rows. Fix: restore the "
                     "files from the dataset's source, or correct meta/episodes.jsonl.",
                     e.length.value_or(0), out.path, out.num_rows);
  return out;
}

std::shared_ptr<const TableChunk> LeRobotReader::Impl::chunk(const OpenTable& table,
                                                             const std::string& column,
                                                             std::size_t group) {
  return chunks.get({table.path, {column, group}}, [&] {
    auto made = table.table->read(column, group);
    const std::size_t bytes = made->bytes();
    return LruCache<ChunkKey, const TableChunk>::Made{std::move(made), bytes};
  });
}

at::Tensor LeRobotReader::Impl::numbers(const OpenTable& table, const std::string& column) {
  const TableColumn& info = table.table->column(column);
  require<DataError>(info.kind == ColumnKind::kNumbers,
                     "column '{}' of {} holds {}, expected numbers. Fix: name a numeric column in "
                     "meta/modality.json.",
                     column, table.path, info.type);
  std::vector<at::Tensor> parts;
  for (const GroupPart& part : parts_of(table)) {
    parts.push_back(
        chunk(table, column, part.group)->value_LD.narrow(0, part.first, part.end - part.first));
    require<DataError>(
        parts.back().size(1) == parts.front().size(1),
        "column '{}' of {} has rows of {} and of {} values. Fix: write the table again "
        "with vectors of one length.",
        column, table.path, parts.front().size(1), parts.back().size(1));
  }
  require<DataError>(!parts.empty(), "the table {} has no rows. Fix: remove the episode.",
                     table.path);
  return parts.size() == 1 ? parts[0] : at::cat(parts);
}

std::vector<std::string> LeRobotReader::Impl::texts(const OpenTable& table,
                                                    const std::string& column) {
  const TableColumn& info = table.table->column(column);
  require<DataError>(info.kind == ColumnKind::kText,
                     "column '{}' of {} holds {}, expected text. Fix: name a text column in "
                     "meta/modality.json.",
                     column, table.path, info.type);
  std::vector<std::string> out;
  for (const GroupPart& part : parts_of(table)) {
    const auto held = chunk(table, column, part.group);
    out.insert(out.end(), held->text.begin() + part.first, held->text.begin() + part.end);
  }
  return out;
}

at::Tensor LeRobotReader::Impl::table_pictures(const OpenTable& table,
                                               const std::string& camera,
                                               std::span<const std::int64_t> frames) {
  const TableColumn& info = table.table->column(camera);
  require<DataError>(
      info.kind == ColumnKind::kPictures,
      "column '{}' of {} holds {}, expected pictures (struct of bytes and path). Fix: "
      "name another camera in meta/modality.json.",
      camera, table.path, info.type);
  const auto& starts = table.table->row_starts();
  PictureDecoder decoder;
  std::vector<at::Tensor> picture_HWC;
  for (const std::int64_t frame : frames) {
    const std::int64_t row = table.first_row + frame;
    const auto after = std::upper_bound(starts.begin(), starts.end(), row);
    const auto group = static_cast<std::size_t>(after - starts.begin() - 1);
    const auto held = chunk(table, camera, group);
    picture_HWC.push_back(
        decoder.decode(held->text[static_cast<std::size_t>(row - starts[group])],
                       fmt::format("frame {} in column '{}' of {}", frame, camera, table.path)));
  }
  return stack_pictures(picture_HWC, camera);
}

at::Tensor LeRobotReader::Impl::video_frames(std::int64_t episode_idx,
                                             const std::string& camera,
                                             std::span<const std::int64_t> frames) {
  const VideoSpan span = layout->video(episode(episode_idx), camera);
  const auto video = videos.index(span.path);
  const std::int64_t first = video->ordinal_at(span.from_s);
  std::vector<std::int64_t> ordinals;
  for (const std::int64_t frame : frames) {
    check_frame_times(*video, first, frame);
    ordinals.push_back(first + frame);
  }
  return videos.read_rgb(span.path, ordinals);
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

LeRobotReader::LeRobotReader(const std::filesystem::path& root, const LeRobotReaderOptions& options)
    : impl_(std::make_unique<Impl>(root, options)) {}
LeRobotReader::~LeRobotReader() = default;

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
  const LeRobotEpisode& e = impl_->episode(episode_idx);
  if (e.length) return *e.length;
  return impl_->in_episode(episode_idx, "", [&] { return impl_->table_of(episode_idx).num_rows; });
}

const std::string& LeRobotReader::task_text(std::int64_t task_index) const {
  const auto found = impl_->meta.tasks.find(task_index);
  require<DataError>(found != impl_->meta.tasks.end(),
                     "LeRobot dataset {}: the task list has no task {} ({} tasks are listed). Fix: "
                     "restore meta/tasks.jsonl from the dataset's source.",
                     impl_->meta.root.string(), task_index, impl_->meta.tasks.size());
  return found->second;
}

std::vector<std::string> LeRobotReader::columns(std::int64_t episode_idx) const {
  return impl_->in_episode(episode_idx, "", [&] {
    std::vector<std::string> names;
    for (const TableColumn& c : impl_->table_of(episode_idx).table->columns())
      names.push_back(c.name);
    return names;
  });
}

bool LeRobotReader::has_column(std::int64_t episode_idx, const std::string& column) const {
  const auto names = columns(episode_idx);
  return std::find(names.begin(), names.end(), column) != names.end();
}

void LeRobotReader::require_column(std::int64_t episode_idx, const ColumnSlice& slice) const {
  impl_->in_episode(episode_idx, "", [&] {
    OpenTable table = impl_->table_of(episode_idx);
    table.num_rows = std::min<std::int64_t>(table.num_rows, 1);
    const std::int64_t width = impl_->numbers(table, slice.column).size(1);
    require<DataError>(
        0 <= slice.start && slice.start < slice.end && slice.end <= width,
        "values {} to {} of column '{}' are needed, the rows of {} hold {}. Fix: correct "
        "meta/modality.json or meta/info.json.",
        slice.start, slice.end, slice.column, table.path, width);
  });
}

at::Tensor LeRobotReader::read_column(std::int64_t episode_idx, const std::string& column) const {
  return impl_->in_episode(episode_idx, "",
                           [&] { return impl_->numbers(impl_->table_of(episode_idx), column); });
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
  return impl_->in_episode(episode_idx, "",
                           [&] { return impl_->texts(impl_->table_of(episode_idx), column); });
}

bool LeRobotReader::is_text_column(std::int64_t episode_idx, const std::string& column) const {
  return impl_->in_episode(episode_idx, "", [&] {
    return impl_->table_of(episode_idx).table->column(column).kind == ColumnKind::kText;
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
  const LeRobotFeature* feature = impl_->meta.info.feature(camera);
  invariant(feature != nullptr && feature->is_camera() && !frames.empty(),
            "read_frames needs a camera of the dataset and at least one frame");
  return impl_->in_episode(episode_idx, fmt::format(", camera {}", camera), [&] {
    impl_->check_frames(episode_idx, episode_length(episode_idx), frames);
    if (feature->dtype == "video") return impl_->video_frames(episode_idx, camera, frames);
    return impl_->table_pictures(impl_->table_of(episode_idx), camera, frames);
  });
}

PictureSize LeRobotReader::picture_size(const std::string& camera) const {
  const std::int64_t first[] = {0};
  const at::Tensor frame_THWC = read_frames(0, camera, first);
  return {frame_THWC.size(1), frame_THWC.size(2)};
}

}  // namespace wam
