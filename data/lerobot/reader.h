#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "data/lerobot/columns.h"
#include "data/lerobot/episode_filter.h"
#include "data/lerobot/layout.h"
#include "data/lerobot/meta.h"
#include "data/lerobot/parquet_table.h"

namespace wam {

struct OpenFiles;
struct VideoIndex;

// Height and width of a camera's pictures, in pixels.
struct PictureSize {
  std::int64_t height = 0;
  std::int64_t width = 0;
  bool operator==(const PictureSize&) const = default;
};

// Frames of one video file, by their ordinals in it.
struct VideoFrames {
  std::filesystem::path path;
  std::vector<std::int64_t> ordinals;
};

// A camera's video of an episode: which part of which file, and where that file's frames are.
struct EpisodeVideo {
  VideoSpan span;                           // file_frames is known
  std::shared_ptr<const VideoIndex> index;  // of the whole file
};

// Reads a LeRobot dataset, layouts v2.0, v2.1 and v3.0: tables, video, pictures inside tables.
//
// Rows of v3.0 are found by their `index` (shared_tables.h) and proven by it and `episode_index`.
// A video that has as many frames as the rows of its episodes shows row i in frame i; in any other
// the frame nearest to the row's timestamp is taken, and more than half a frame away is an error.
//
// Episodes are addressed by `episode_idx`, the position in meta().episodes (0 ...
// num_episodes()-1); the dataset's own numbers may have gaps and appear in messages. Frames are
// addressed by their position in the episode.
//
// Construction reads meta/ only. Tables, videos and their indices are opened when first touched
// and kept in bounded caches.
//
// Letters: L row of an episode · D value of a vector · T picture · H W row, column · C channel.
// Threads: all members may be called from any thread; one video is decoded on the calling thread.
// Errors:  DataError naming dataset, episode, file and frame.
class LeRobotReader {
 public:
  // Of the episodes that `filter` leaves. `files`: the caches, which readers may share; null: this
  // reader has its own.
  explicit LeRobotReader(const std::filesystem::path& root,
                         const EpisodeFilter& filter = {},
                         std::shared_ptr<OpenFiles> files = nullptr);
  ~LeRobotReader();
  LeRobotReader(const LeRobotReader&) = delete;
  LeRobotReader& operator=(const LeRobotReader&) = delete;
  LeRobotReader(LeRobotReader&&) = delete;
  LeRobotReader& operator=(LeRobotReader&&) = delete;

  // Without the episodes that the filter leaves out.
  [[nodiscard]] const LeRobotMeta& meta() const noexcept;
  [[nodiscard]] const EpisodeFilter& filter() const noexcept;
  [[nodiscard]] std::int64_t num_episodes() const noexcept;
  // The dataset's own number (episode_index) of an episode.
  [[nodiscard]] std::int64_t episode_number(std::int64_t episode_idx) const;
  // Frames of an episode: the episode list's word, else the table's row count.
  [[nodiscard]] std::int64_t episode_length(std::int64_t episode_idx) const;
  // Text of a task. Errors: DataError when the task list lacks the index.
  [[nodiscard]] const std::string& task_text(std::int64_t task_index) const;
  // The same without blanks around it; nothing when the task list lacks the index.
  [[nodiscard]] std::optional<std::string> instruction(std::int64_t task_index) const;
  // The files that say which episodes there are and what their tasks mean, and the tables with
  // their rows, whether they exist or not; each in a fixed order.
  [[nodiscard]] std::vector<std::filesystem::path> meta_files() const;
  [[nodiscard]] std::vector<std::filesystem::path> table_files() const;
  // The videos of a camera; none where its pictures are in the tables.
  [[nodiscard]] std::vector<std::filesystem::path> video_files(const std::string& camera) const;

  // The table that should hold an episode's rows (v3.0: as the list says), and the video of one of
  // its cameras; empty where its pictures are in the table. Whether they exist or not.
  [[nodiscard]] std::filesystem::path table_file(std::int64_t episode_idx) const;
  [[nodiscard]] std::filesystem::path video_file(std::int64_t episode_idx,
                                                 const std::string& camera) const;

  // Columns that the episode's table really has (info.json may promise others). Opens the table's
  // footer only, so that a missing action column is found cheaply at the start.
  [[nodiscard]] std::vector<std::string> columns(std::int64_t episode_idx) const;
  [[nodiscard]] std::vector<TableColumn> table_columns(std::int64_t episode_idx) const;
  // Values in a row of a column of numbers. Reads one row group at most.
  [[nodiscard]] std::int64_t column_width(std::int64_t episode_idx,
                                          const std::string& column) const;
  [[nodiscard]] bool has_column(std::int64_t episode_idx, const std::string& column) const;
  // DataError unless the episode's table has the column, of numbers, and its vectors are wide
  // enough. Reads one row group at most.
  void require_column(std::int64_t episode_idx, const ColumnSlice& slice) const;

  // The table that holds an episode's rows, for messages.
  [[nodiscard]] std::filesystem::path rows_file(std::int64_t episode_idx) const;
  // (L, D) in the stored type (kFloat, kDouble, kLong, kInt, kBool ...), bit for bit; scalars have
  // D = 1. May alias the cache: do not write to it.
  [[nodiscard]] at::Tensor read_column(std::int64_t episode_idx, const std::string& column) const;
  // (L, end - start): part of every row.
  [[nodiscard]] at::Tensor read_column(std::int64_t episode_idx, const ColumnSlice& slice) const;
  // A column of text, one per row.
  [[nodiscard]] std::vector<std::string> read_strings(std::int64_t episode_idx,
                                                      const std::string& column) const;
  // True when the column holds text (read_strings), false when numbers (read_column).
  [[nodiscard]] bool is_text_column(std::int64_t episode_idx, const std::string& column) const;
  // Per row the instruction that a language column means: text trimmed, or the task of the index.
  [[nodiscard]] std::vector<std::string> read_language(std::int64_t episode_idx,
                                                       const std::string& column) const;

  // (T, H, W, 3) uint8 RGB of these frames, in this order; repeats are allowed.
  // Video: FFmpeg, swscale with its default flags (equal to `ffmpeg -pix_fmt rgb24`).
  [[nodiscard]] at::Tensor read_frames(std::int64_t episode_idx,
                                       const std::string& camera,
                                       std::span<const std::int64_t> frames) const;
  // Where these frames are; nothing where the camera's pictures are in the tables.
  [[nodiscard]] std::optional<VideoFrames> video_frames(std::int64_t episode_idx,
                                                        const std::string& camera,
                                                        std::span<const std::int64_t> frames) const;
  // Where all of an episode come from, by the container alone: nothing is decoded. For cameras
  // whose pictures are videos.
  [[nodiscard]] EpisodeVideo video(std::int64_t episode_idx, const std::string& camera) const;
  // Size of the camera's pictures, from frame 0 of the first episode (info.json is not trusted).
  // Decodes that frame at each call.
  [[nodiscard]] PictureSize picture_size(const std::string& camera) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace wam
