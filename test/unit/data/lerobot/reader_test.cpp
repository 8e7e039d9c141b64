#include "data/lerobot/reader.h"

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <thread>

#include <ATen/ops/equal.h>

#include "data/lerobot/open_files.h"
#include "test/support/catch.h"
#include "test/unit/data/lerobot/small_set.h"
#include "test/unit/data/video/test_video.h"

namespace wam::test {
namespace {

using Catch::Contains;

constexpr const char* kCamera = R"("observation.images.front": {"dtype": "video",
  "shape": [48, 64, 3], "names": ["height", "width", "channels"]}, "task_index":)";
constexpr const char* kPicture = R"("image": {"dtype": "image", "shape": [24, 32, 3],
  "names": ["height", "width", "channel"]}, "task_index":)";

std::filesystem::path video_file(const SmallSet& set, int number) {
  const auto path = set.root() / fmt::format(
                                     "videos/chunk-{:03d}/observation.images.front/"
                                     "episode_{:06d}.mp4",
                                     number / 2, number);
  std::filesystem::create_directories(path.parent_path());
  return path;
}

void add_videos(const SmallSet& set) {
  set.edit("info.json", "\"task_index\":", kCamera);
  write_test_video(video_file(set, 0), {.num_frames = 5, .fps = 10});
  write_test_video(video_file(set, 3), {.num_frames = 3, .fps = 10});
}

std::string png(std::uint8_t seed) {
  return encode_test_picture(AV_CODEC_ID_PNG, AV_PIX_FMT_RGB24, 32, 24, seed);
}

}  // namespace

TEST_CASE("LeRobotReader: columns come exactly, in their stored type, across row groups") {
  const SmallSet set;
  const LeRobotReader reader(set.root());
  CHECK(reader.num_episodes() == 2);
  CHECK(reader.episode_number(1) == 3);
  CHECK(reader.episode_length(1) == 3);
  const at::Tensor state_LD = reader.read_column(0, "observation.state");
  REQUIRE(state_LD.sizes() == at::IntArrayRef({5, 4}));
  CHECK(state_LD.scalar_type() == at::kFloat);
  const at::Tensor action_LD = reader.read_column(0, "action");
  REQUIRE(action_LD.sizes() == at::IntArrayRef({5, 3}));
  CHECK(action_LD.scalar_type() == at::kDouble);
  for (std::int64_t r = 0; r < 5; ++r) {
    for (std::int64_t d = 0; d < 3; ++d) {
      CHECK(state_LD[r][d].item<double>() == vector_value(r, d));
      CHECK(action_LD[r][d].item<double>() == vector_value(r, d));
    }
  }
  const at::Tensor part_LD = reader.read_column(0, ColumnSlice{"action", 1, 3});
  CHECK(at::equal(part_LD, action_LD.narrow(1, 1, 2)));
  CHECK(reader.read_column(0, "task_index").scalar_type() == at::kLong);
}

TEST_CASE("LeRobotReader: booleans, text, and scalars stored as lists of one") {
  const SmallSet set;
  write_table(set.table(0),
              {{"task_index", double_lists(5, 1)},
               {"done", booleans(5)},
               {"say", strings({" a ", "b", "c\n", "", "é"})}},
              3);
  const LeRobotReader reader(set.root());
  CHECK(reader.read_column(0, "task_index").sizes() == at::IntArrayRef({5, 1}));
  const at::Tensor done_LD = reader.read_column(0, "done");
  CHECK(done_LD.scalar_type() == at::kBool);
  CHECK(done_LD[3][0].item<bool>());
  CHECK_FALSE(done_LD[4][0].item<bool>());
  CHECK(reader.is_text_column(0, "say"));
  CHECK((reader.read_strings(0, "say") == std::vector<std::string>{" a ", "b", "c\n", "", "é"}));
  CHECK((reader.read_language(0, "say") == std::vector<std::string>{"a", "b", "c", "", "é"}));
  CHECK_THAT(data_error_of([&] { static_cast<void>(reader.read_column(0, "say")); }),
             Contains("column 'say' of") && Contains("holds string, expected numbers"));
  CHECK_THAT(data_error_of([&] { static_cast<void>(reader.read_strings(0, "done")); }),
             Contains("holds bool, expected text"));
}

TEST_CASE("LeRobotReader: float64 and float32 columns are equal to the last float32 bit") {
  const SmallSet set;
  const std::vector<double> exact = {1.0 / 3, -2e-39, 16777217.0, 0.1, -7e37};
  std::vector<float> rounded;
  for (const double value : exact) rounded.push_back(static_cast<float>(value));
  write_table(set.table(0), {{"wide", doubles(exact)}, {"narrow", floats(rounded)}});
  const LeRobotReader reader(set.root());
  CHECK(at::equal(reader.read_column(0, "wide").to(at::kFloat), reader.read_column(0, "narrow")));
}

TEST_CASE("LeRobotReader: language by task index, a task that is not listed is an error") {
  const SmallSet set;
  const LeRobotReader reader(set.root());
  const auto texts = reader.read_language(0, "task_index");
  CHECK((texts == std::vector<std::string>{"open the drawer", "open the drawer", "stack the cups",
                                           "stack the cups", "stack the cups"}));
  CHECK_THAT(data_error_of([&] { static_cast<void>(reader.read_language(1, "task_index")); }),
             Contains("the task list has no task 7 (2 tasks are listed). Fix: "));
}

TEST_CASE("LeRobotReader: a first table without the column, or too narrow, is found at the start") {
  const SmallSet set;
  write_table(set.table(0),
              {{"observation.state", float_vectors(5, 4)}, {"acton", double_lists(5, 3)}});
  const LeRobotReader reader(set.root());
  CHECK((reader.columns(0) == std::vector<std::string>{"observation.state", "acton"}));
  CHECK_FALSE(reader.has_column(0, "action"));
  CHECK(reader.has_column(1, "action"));
  const std::string text = data_error_of([&] { reader.require_column(0, {"action", 0, 3}); });
  CHECK_THAT(text, Contains("LeRobot dataset " + set.root().string() + ", episode 0: the table " +
                            set.table(0).string() + " has no column 'action'"));
  CHECK_THAT(text, Contains("Found: observation.state, acton. Fix: did you mean 'acton'?"));
  reader.require_column(0, {"observation.state", 0, 4});
  CHECK_THAT(
      data_error_of([&] {
        reader.require_column(0, {"observation.state", 2, 5});
      }),
      Contains("values 2 to 5 of column 'observation.state' are needed") && Contains("hold 4"));
}

TEST_CASE("LeRobotReader: null cells, ragged lists, wrong lengths and damaged tables are errors") {
  const SmallSet set;
  write_table(set.table(0), {{"hole", floats_with_null(5)}, {"ragged", ragged_lists(5)}});
  write_table(set.table(3), {{"hole", floats_with_null(4)}});
  const LeRobotReader reader(set.root());
  const auto error = [&](std::int64_t episode_idx, const char* column) {
    return data_error_of([&] { static_cast<void>(reader.read_column(episode_idx, column)); });
  };
  CHECK_THAT(error(0, "hole"),
             Contains("reading column 'hole' of") && Contains("1 of 5 cells are null"));
  CHECK_THAT(error(0, "ragged"), Contains("row 1 holds 2 values, row 0 holds 1"));
  CHECK_THAT(error(1, "hole"), Contains("episode 3: the episode list says 3 frames, the table") &&
                                   Contains("has 4 rows"));
  std::filesystem::resize_file(set.table(0), std::filesystem::file_size(set.table(0)) / 2);
  const LeRobotReader fresh(set.root());
  CHECK_THAT(data_error_of([&] { static_cast<void>(fresh.columns(0)); }),
             Contains("episode 0: opening the table " + set.table(0).string()));
  std::filesystem::remove(set.table(0));
  CHECK_THAT(data_error_of([&] { static_cast<void>(LeRobotReader(set.root()).columns(0)); }),
             Contains("no such file"));
}

TEST_CASE("LeRobotReader: an episode list without lengths takes them from the tables") {
  const SmallSet set;
  set.write("episodes.jsonl", "{\"episode_index\": 0}\n{\"episode_index\": 3}\n");
  const LeRobotReader reader(set.root());
  CHECK(reader.episode_length(0) == 5);
  CHECK(reader.episode_length(1) == 3);
}

TEST_CASE("LeRobotReader: broken path templates are refused when the dataset is opened") {
  const SmallSet set;
  const auto error = [&] { return data_error_of([&] { const LeRobotReader reader(set.root()); }); };
  set.edit("info.json", "{episode_chunk:03d}", "{chunk:03d}");
  CHECK_THAT(error(), Contains("info.json, data_path") &&
                          Contains("has the field 'chunk', expected one of"));
  set.edit("info.json", "{chunk:03d}", "{episode_chunk:3x}");
  CHECK_THAT(error(), Contains("has the format '3x', expected one like '06d'"));
}

TEST_CASE("LeRobotReader: video frames of each episode, from a file per episode and chunk") {
  const SmallSet set;
  add_videos(set);
  const LeRobotReader reader(set.root());
  const std::int64_t frames[] = {2, 0, 2};
  for (const std::int64_t episode_idx : {0, 1}) {
    const at::Tensor rgb_THWC = reader.read_frames(episode_idx, "observation.images.front", frames);
    REQUIRE(rgb_THWC.sizes() == at::IntArrayRef({3, 48, 64, 3}));
    for (std::int64_t t = 0; t < 3; ++t) {
      const double expected = (grey_of(frames[t]) - 16) * 255.0 / 219.0;
      CHECK(std::abs(rgb_THWC[t].to(at::kDouble).mean().item<double>() - expected) < 3);
    }
  }
  CHECK((reader.picture_size("observation.images.front") == PictureSize{48, 64}));
}

TEST_CASE("LeRobotReader: faults of a video name dataset, episode, camera and file") {
  const SmallSet set;
  add_videos(set);
  const std::int64_t frames[] = {0, 4};
  const auto error = [&] {
    return data_error_of([&] {
      static_cast<void>(
          LeRobotReader(set.root()).read_frames(0, "observation.images.front", frames));
    });
  };
  const std::string where =
      "LeRobot dataset " + set.root().string() + ", episode 0, camera observation.images.front: ";
  const auto path = video_file(set, 0);
  SECTION("too few frames") {
    write_test_video(path, {.num_frames = 4, .fps = 10});
    CHECK_THAT(error(), Contains(where + "frame 4 should be shown at 0.400 s of the video " +
                                 path.string() + ", whose nearest frame is shown at 0.300 s") &&
                            Contains("it has 4 frames") && Contains("5 rows"));
  }
  SECTION("cut off") {
    write_test_video(path, {.num_frames = 60, .fps = 10});
    std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
    CHECK_THAT(error(), Contains(where + "opening the video " + path.string()) &&
                            Contains("moov atom not found"));
  }
  SECTION("missing") {
    std::filesystem::remove(path);
    CHECK_THAT(error(), Contains(where + "opening the video " + path.string() + ": no such file"));
  }
}

TEST_CASE("LeRobotReader: pictures inside the table, across row groups") {
  const SmallSet set;
  set.edit("info.json", "\"task_index\":", kPicture);
  std::vector<std::string> files;
  for (std::uint8_t i = 0; i < 5; ++i) files.push_back(png(i));
  write_table(set.table(0), {{"image", pictures(files)}}, 2);
  files.resize(3);
  files[1] = files[1].substr(0, 200);
  write_table(set.table(3), {{"image", pictures(files)}});
  const LeRobotReader reader(set.root());
  const std::vector<std::int64_t> frames = {4, 0, 3, 3};

  const at::Tensor rgb_THWC = reader.read_frames(0, "image", frames);

  REQUIRE(rgb_THWC.sizes() == at::IntArrayRef({4, 24, 32, 3}));
  for (std::size_t t = 0; t < frames.size(); ++t) {
    const std::int64_t one[] = {frames[t]};
    CHECK(
        at::equal(rgb_THWC[static_cast<std::int64_t>(t)], reader.read_frames(0, "image", one)[0]));
  }
  CHECK_FALSE(at::equal(rgb_THWC[0], rgb_THWC[1]));
  const std::int64_t broken[] = {1};
  CHECK_THAT(data_error_of([&] { static_cast<void>(reader.read_frames(1, "image", broken)); }),
             Contains(", episode 3, camera image: frame 1 in column 'image' of " +
                      set.table(3).string()) &&
                 Contains("does not decode"));
  write_table(set.table(3), {{"image", pictures({"", "", ""})}});
  CHECK_THAT(data_error_of([&] {
               static_cast<void>(LeRobotReader(set.root()).read_frames(1, "image", broken));
             }),
             Contains("pictures without bytes"));
}

TEST_CASE("LeRobotReader: threads that share a reader with tiny caches read the same bytes") {
  const SmallSet set;
  add_videos(set);
  const std::int64_t frames[] = {0, 1, 2};
  const LeRobotReader reference(set.root());
  std::vector<at::Tensor> rgb;
  std::vector<at::Tensor> action;
  for (const std::int64_t idx : {0, 1}) {
    rgb.push_back(reference.read_frames(idx, "observation.images.front", frames));
    action.push_back(reference.read_column(idx, "action"));
  }
  const OpenFilesOptions tiny{.column_cache_bytes = 128 << 10,  // two columns
                              .max_tables = 1,
                              .max_decoders = 1,
                              .video_index_bytes = 16 << 10};  // one video
  const LeRobotReader shared(set.root(), {}, std::make_shared<OpenFiles>(tiny));

  std::vector<int> wrong(4, 0);
  std::vector<std::thread> threads;
  for (std::size_t w = 0; w < wrong.size(); ++w) {
    threads.emplace_back([&, w] {
      for (std::size_t i = 0; i < 20; ++i) {
        const std::size_t at = (i + w) % 2;
        const auto idx = static_cast<std::int64_t>(at);
        if (!at::equal(shared.read_frames(idx, "observation.images.front", frames), rgb[at]))
          ++wrong[w];
        if (!at::equal(shared.read_column(idx, "action"), action[at])) ++wrong[w];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  CHECK(std::accumulate(wrong.begin(), wrong.end(), 0) == 0);
}

TEST_CASE("LeRobotReader: readers that share their files keep no more of them open than one") {
  constexpr std::size_t kSets = 4;
  const auto files = std::make_shared<OpenFiles>(
      OpenFilesOptions{.max_tables = 2, .max_decoders = 1, .video_index_bytes = 1 << 20});
  std::vector<std::unique_ptr<SmallSet>> sets;
  std::vector<std::unique_ptr<LeRobotReader>> readers;
  const std::int64_t frames[] = {0, 2};
  for (std::size_t i = 0; i < kSets; ++i) {
    sets.push_back(std::make_unique<SmallSet>());
    add_videos(*sets.back());
    readers.push_back(std::make_unique<LeRobotReader>(sets.back()->root(), EpisodeFilter{}, files));
  }
  const LeRobotReader alone(sets[0]->root());
  const auto rgb = alone.read_frames(0, "observation.images.front", frames);
  const auto action = alone.read_column(0, "action");
  for (const auto& reader : readers) {
    CHECK(at::equal(reader->read_frames(0, "observation.images.front", frames), rgb));
    CHECK(at::equal(reader->read_column(0, "action"), action));
  }

  std::size_t open = 0;  // of the sets that the reader alone has no part in
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const auto file = std::filesystem::read_symlink(entry, gone).string();
    for (std::size_t i = 1; i < kSets; ++i) open += file.starts_with(sets[i]->root().string());
  }
  CHECK(open == 3);
}

}  // namespace wam::test
