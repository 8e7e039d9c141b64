#include "test/unit/data/lerobot/shared_set.h"

#include <algorithm>
#include <numeric>

#include "core/io/atomic_file.h"
#include "test/unit/data/video/test_video.h"

namespace wam::test {
namespace {

constexpr std::int64_t kFilesInChunk = 2;

constexpr const char* kInfo = R"({{
  "codebase_version": "v3.0", "robot_type": null, "total_episodes": {0}, "total_frames": {1},
  "chunks_size": {2}, "fps": {3}, "splits": {{"train": "0:{0}"}}, {4}
  "data_path": "data/chunk-{{chunk_index:03d}}/file-{{file_index:03d}}.parquet",
  "video_path": "videos/{{video_key}}/chunk-{{chunk_index:03d}}/file-{{file_index:03d}}.mp4",
  "features": {{
    "observation.images.front": {{"dtype": "video", "shape": [48, 64, 3],
      "names": ["height", "width", "channels"]}},
    "observation.images.wrist": {{"dtype": "video", "shape": [48, 64, 3],
      "names": ["height", "width", "channels"]}},
    "observation.state": {{"dtype": "float32", "shape": [2], "names": null}},
    "task_index": {{"dtype": "int64", "shape": [1], "names": null}}
  }}
}})";

// Where an episode is among files: the file, and the start time there without drift.
struct Placed {
  std::vector<std::int64_t> chunk;
  std::vector<std::int64_t> file;
  std::vector<double> from_s;
};

Placed place(const SharedSetForm& form, const std::vector<std::vector<std::int64_t>>& files) {
  Placed out;
  for (std::size_t f = 0; f < files.size(); ++f) {
    double from_s = 0;
    for (const auto e : files[f]) {
      out.chunk.push_back(static_cast<std::int64_t>(f) / kFilesInChunk);
      out.file.push_back(static_cast<std::int64_t>(f) % kFilesInChunk);
      out.from_s.push_back(from_s);
      const auto frames = static_cast<double>(form.lengths[static_cast<std::size_t>(e)]);
      from_s += frames / form.video_fps + form.drift_s;
    }
  }
  return out;
}

}  // namespace

SharedSet::SharedSet(const SharedSetForm& form) : form_(form) {
  std::filesystem::create_directories(root() / "meta");
  write_info();
  write_list();
  for (std::size_t i = 0; i < form.tables.size(); ++i) write_data(static_cast<std::int64_t>(i), 0);
  write_videos("observation.images.front", form.front);
  write_videos("observation.images.wrist", form.wrist);
}

std::filesystem::path SharedSet::table(std::int64_t i) const {
  return root() /
         fmt::format("data/chunk-{:03d}/file-{:03d}.parquet", i / kFilesInChunk, i % kFilesInChunk);
}

std::int64_t SharedSet::first_index(std::int64_t e) const {
  return std::accumulate(form_.lengths.begin(), form_.lengths.begin() + e, std::int64_t{0});
}

void SharedSet::write_info() const {
  const auto episodes = static_cast<std::int64_t>(form_.lengths.size());
  write_file_atomically(root() / "meta/info.json",
                        fmt::format(kInfo, episodes, first_index(episodes), kFilesInChunk,
                                    form_.fps, form_.info_extra));
  write_table(root() / "meta/tasks.parquet", {{"task_index", integers({1, 0})},
                                              {form_.task_column, strings({"second", "first"})}});
}

void SharedSet::write_list() const {
  std::vector<std::int64_t> number(form_.lengths.size());
  std::iota(number.begin(), number.end(), 0);
  std::vector<std::int64_t> from;
  std::vector<std::int64_t> to;
  std::vector<std::int64_t> chunk;
  std::vector<std::int64_t> file;
  for (const auto e : number) {
    from.push_back(first_index(e));
    to.push_back(first_index(e) + form_.lengths[static_cast<std::size_t>(e)]);
    chunk.push_back(form_.listed_table[static_cast<std::size_t>(e)] / kFilesInChunk);
    file.push_back(form_.listed_table[static_cast<std::size_t>(e)] % kFilesInChunk);
  }
  std::vector<TestColumn> columns = {
      {"episode_index", integers(number)},    {"length", integers(form_.lengths)},
      {"data/chunk_index", integers(chunk)},  {"data/file_index", integers(file)},
      {"dataset_from_index", integers(from)}, {"dataset_to_index", integers(to)}};
  for (const char* camera : {"front", "wrist"}) {
    const Placed placed = place(form_, camera[0] == 'f' ? form_.front : form_.wrist);
    const std::string start = fmt::format("videos/observation.images.{}/", camera);
    columns.push_back({start + "chunk_index", integers(placed.chunk)});
    columns.push_back({start + "file_index", integers(placed.file)});
    columns.push_back({start + "from_timestamp", doubles(placed.from_s)});
  }
  columns.insert(columns.end(), form_.list_extra.begin(), form_.list_extra.end());
  write_table(root() / "meta/episodes/chunk-000/file-000.parquet", columns, 2);
}

void SharedSet::write_data(std::int64_t i, std::int64_t shift) const {
  std::vector<std::int64_t> index;
  std::vector<std::int64_t> number;
  std::vector<std::int64_t> task;
  std::vector<double> time;
  for (const auto e : form_.tables[static_cast<std::size_t>(i)]) {
    for (std::int64_t row = 0; row < form_.lengths[static_cast<std::size_t>(e)]; ++row) {
      index.push_back(first_index(e) + row + shift);
      number.push_back(e);
      task.push_back(e % 2);
      time.push_back(static_cast<double>(row) / form_.fps);
    }
  }
  write_table(table(i),
              {{"observation.state", float_vectors(static_cast<std::int64_t>(index.size()), 2)},
               {"timestamp", doubles(time)},
               {"index", integers(index)},
               {"episode_index", integers(number)},
               {"task_index", integers(task)}},
              4);
}

void SharedSet::write_videos(const std::string& camera,
                             const std::vector<std::vector<std::int64_t>>& files) const {
  for (std::size_t f = 0; f < files.size(); ++f) {
    std::int64_t frames = form_.extra_frames;
    for (const auto e : files[f]) frames += form_.lengths[static_cast<std::size_t>(e)];
    const auto path = root() / fmt::format("videos/{}/chunk-{:03d}/file-{:03d}.mp4", camera,
                                           f / kFilesInChunk, f % kFilesInChunk);
    std::filesystem::create_directories(path.parent_path());
    write_test_video(
        path,
        {.num_frames = static_cast<int>(frames), .fps = form_.video_fps, .keyframe_every = 4});
  }
}

}  // namespace wam::test
