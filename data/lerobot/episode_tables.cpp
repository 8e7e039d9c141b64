#include <algorithm>

#include "core/base/names.h"
#include "core/base/now_reading.h"
#include "data/lerobot/meta_parts.h"
#include "data/lerobot/parquet_table.h"

// The lists of v3.0, parquet tables.

namespace wam {
namespace {

using Path = std::filesystem::path;

constexpr const char* kRestore = "Fix: restore the file from the dataset's source.";

template <class T>
std::vector<T> scalars(const TableChunk& chunk, at::ScalarType type, const std::string& where) {
  require<DataError>(chunk.value_LD.defined() && chunk.value_LD.size(1) == 1,
                     "{}: holds no plain numbers. {}", where, kRestore);
  const at::Tensor values = chunk.value_LD.to(type).contiguous();
  const T* data = values.const_data_ptr<T>();
  return {data, data + values.size(0)};
}

// Columns of numbers of one table, all read in one pass.
class NumberColumns {
 public:
  NumberColumns(const ParquetTable& table, const Path& path, std::vector<std::string> names)
      : path_(path), names_(std::move(names)), chunks_(table.read_whole(names_)) {}

  [[nodiscard]] std::vector<std::int64_t> integers(const std::string& name) const {
    return scalars<std::int64_t>(at(name), at::kLong, where(name));
  }
  [[nodiscard]] std::vector<double> doubles(const std::string& name) const {
    return scalars<double>(at(name), at::kDouble, where(name));
  }

 private:
  [[nodiscard]] const TableChunk& at(const std::string& name) const {
    const auto found = std::find(names_.begin(), names_.end(), name);
    return chunks_[static_cast<std::size_t>(found - names_.begin())];
  }
  [[nodiscard]] std::string where(const std::string& name) const {
    return fmt::format("column '{}' of {}", name, path_.string());
  }

  Path path_;
  std::vector<std::string> names_;
  std::vector<TableChunk> chunks_;
};

bool has(const ParquetTable& table, const std::string& name) {
  const auto& columns = table.columns();
  return std::any_of(columns.begin(), columns.end(),
                     [&](const TableColumn& c) { return c.name == name; });
}

std::string video_column(const std::string& video, const char* field) {
  return fmt::format("videos/{}/{}", video, field);
}

// Videos that this list says something about.
std::vector<std::string> listed(const ParquetTable& table, const std::vector<std::string>& videos) {
  std::vector<std::string> out;
  for (const auto& video : videos) {
    if (has(table, video_column(video, "chunk_index"))) out.push_back(video);
  }
  return out;
}

void read_video_places(const NumberColumns& columns,
                       const std::vector<std::string>& videos,
                       const std::vector<std::string>& with_place,
                       std::vector<LeRobotEpisode>& out) {
  for (std::size_t v = 0; v < videos.size(); ++v) {
    if (std::find(with_place.begin(), with_place.end(), videos[v]) == with_place.end()) continue;
    const auto chunk = columns.integers(video_column(videos[v], "chunk_index"));
    const auto file = columns.integers(video_column(videos[v], "file_index"));
    const auto from = columns.doubles(video_column(videos[v], "from_timestamp"));
    for (std::size_t e = 0; e < out.size(); ++e) {
      out[e].videos[v] = {{chunk[e], file[e]}, from[e], 0, 0};
    }
  }
}

std::vector<LeRobotEpisode> read_list(const Path& path, const std::vector<std::string>& videos) {
  const ParquetTable table(path);
  const auto with_place = listed(table, videos);
  std::vector<std::string> names = {"episode_index", "dataset_from_index", "dataset_to_index",
                                    "data/chunk_index", "data/file_index"};
  for (const auto& video : with_place) {
    for (const char* field : {"chunk_index", "file_index", "from_timestamp"}) {
      names.push_back(video_column(video, field));
    }
  }
  const NumberColumns columns(table, path, std::move(names));
  const auto number = columns.integers("episode_index");
  const auto from = columns.integers("dataset_from_index");
  const auto to = columns.integers("dataset_to_index");
  const auto chunk = columns.integers("data/chunk_index");
  const auto file = columns.integers("data/file_index");
  std::vector<std::optional<bool>> success(number.size());
  if (has(table, "success")) success = table.read_flags("success");
  std::vector<LeRobotEpisode> out;
  for (std::size_t e = 0; e < number.size(); ++e) {
    require<DataError>(from[e] >= 0 && to[e] > from[e],
                       "{}: episode {} has the rows {} to {}, expected at least one. Fix: drop the "
                       "episode, or restore the file from the dataset's source.",
                       path.string(), number[e], from[e], to[e]);
    out.push_back({number[e], to[e] - from[e], {}, from[e], {chunk[e], file[e]}, {}});
    out.back().success = success[e];
    out.back().videos.assign(videos.size(), {.file = {.chunk = -1}});  // until its columns are read
  }
  read_video_places(columns, videos, with_place, out);
  return out;
}

// Frames before each episode in its video file. Only the order of the start times is used: their
// values drift.
void count_frames(std::vector<LeRobotEpisode>& episodes, std::size_t video) {
  std::map<LeRobotFileNumber, std::vector<std::size_t>> in_file;
  for (std::size_t e = 0; e < episodes.size(); ++e) {
    const auto& place = episodes[e].videos[video];
    if (place.file.chunk >= 0) in_file[place.file].push_back(e);
  }
  for (auto& [file, members] : in_file) {
    std::stable_sort(members.begin(), members.end(), [&](std::size_t a, std::size_t b) {
      return episodes[a].videos[video].from_s < episodes[b].videos[video].from_s;
    });
    std::int64_t frames = 0;
    for (const auto e : members) {
      episodes[e].videos[video].first_frame = frames;
      frames += *episodes[e].length;
    }
    for (const auto e : members) episodes[e].videos[video].file_frames = frames;
  }
}

}  // namespace

std::vector<Path> parquet_files_below(const Path& folder) {
  const Reading reading(folder);
  require<DataError>(std::filesystem::is_directory(folder),
                     "opening the LeRobot dataset: no folder {}. Fix: restore it from the "
                     "dataset's source.",
                     folder.string());
  std::vector<Path> out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(
           folder, std::filesystem::directory_options::follow_directory_symlink)) {
    if (entry.path().extension() == ".parquet") out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<LeRobotEpisode> read_episode_tables(const Path& root,
                                                const std::vector<std::string>& videos) {
  const Path folder = root / "meta" / "episodes";
  std::vector<LeRobotEpisode> episodes;
  for (const Path& path : parquet_files_below(folder)) {
    auto part = read_list(path, videos);
    std::move(part.begin(), part.end(), std::back_inserter(episodes));
  }
  sort_episodes(episodes, folder);
  for (std::size_t v = 0; v < videos.size(); ++v) count_frames(episodes, v);
  return episodes;
}

std::map<std::int64_t, std::string> read_task_table(const Path& root) {
  const Path path = root / "meta" / "tasks.parquet";
  const ParquetTable table(path);
  std::string text_column;  // "task", or "__index_level_0__" where the library wrote it as an index
  std::vector<std::string> found;
  for (const TableColumn& column : table.columns()) {
    found.push_back(column.name);
    if (column.name != "task_index" && column.kind == ColumnKind::kText) text_column = column.name;
  }
  require<DataError>(!text_column.empty(),
                     "{}: no column of texts beside task_index. Found: {}. {}", path.string(),
                     join(found), kRestore);
  const auto columns = table.read_whole({"task_index", text_column});
  const auto index = scalars<std::int64_t>(columns[0], at::kLong,
                                           fmt::format("column 'task_index' of {}", path.string()));
  std::map<std::int64_t, std::string> tasks;
  for (std::size_t i = 0; i < index.size(); ++i) tasks[index[i]] = columns[1].text[i];
  return tasks;
}

}  // namespace wam
