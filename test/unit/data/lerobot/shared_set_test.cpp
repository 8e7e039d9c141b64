#include "test/unit/data/lerobot/shared_set.h"

#include <memory>
#include <numeric>

#include "data/lerobot/reader.h"
#include "data/video/video_decoder.h"
#include "test/support/catch.h"
#include "test/unit/data/video/test_video.h"

namespace wam::test {
namespace {

using Catch::Contains;

std::vector<std::int64_t> integers_of(const LeRobotReader& reader,
                                      std::int64_t episode_idx,
                                      const std::string& column) {
  const at::Tensor all = reader.read_column(episode_idx, column).contiguous();
  return {all.data_ptr<std::int64_t>(), all.data_ptr<std::int64_t>() + all.size(0)};
}

// Which frame of its file each frame of an episode is, told by its brightness.
std::vector<std::int64_t> frames_shown(const LeRobotReader& reader,
                                       std::int64_t episode_idx,
                                       const std::string& camera) {
  std::vector<std::int64_t> wanted(static_cast<std::size_t>(reader.episode_length(episode_idx)));
  std::iota(wanted.begin(), wanted.end(), 0);
  const at::Tensor rgb_THWC =
      reader.read_frames(episode_idx, "observation.images." + camera, wanted);
  std::vector<std::int64_t> out;
  for (std::int64_t t = 0; t < rgb_THWC.size(0); ++t) {
    const double grey = rgb_THWC[t].to(at::kDouble).mean().item<double>() * 219.0 / 255.0 + 16;
    std::int64_t frame = 0;
    while (frame < 25 && std::abs(grey - grey_of(frame)) > 3) ++frame;
    out.push_back(frame);
  }
  return out;
}

std::vector<std::int64_t> counted(std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(count));
  std::iota(out.begin(), out.end(), first);
  return out;
}

std::string row_error(const SharedSet& set, std::int64_t episode_idx) {
  return data_error_of([&] {
    static_cast<void>(LeRobotReader(set.root()).read_column(episode_idx, "observation.state"));
  });
}

}  // namespace

TEST_CASE("LeRobot v3.0: rows are found by index where the list names the file before") {
  const SharedSet set;
  const LeRobotReader reader(set.root());
  REQUIRE(reader.num_episodes() == 5);
  const std::vector<std::int64_t> row_in_file = {0, 5, 0, 0, 6};
  for (std::int64_t e = 0; e < 5; ++e) {
    INFO("episode " << e);
    const std::int64_t length = reader.episode_length(e);
    CHECK(integers_of(reader, e, "index") == counted(set.first_index(e), length));
    CHECK(integers_of(reader, e, "episode_index") ==
          std::vector<std::int64_t>(static_cast<std::size_t>(length), e));
    const at::Tensor state_L2 = reader.read_column(e, "observation.state");
    REQUIRE(state_L2.size(0) == length);
    for (std::int64_t row = 0; row < length; ++row) {
      CHECK(state_L2[row][1].item<double>() ==
            vector_value(row_in_file[static_cast<std::size_t>(e)] + row, 1));
    }
    CHECK(reader.read_language(e, "task_index").back() == (e % 2 == 0 ? "first" : "second"));
  }
}

TEST_CASE("LeRobot v3.0: frames are counted, so start times that drift do no harm") {
  const SharedSet set;  // at episode 4 the start time is more than a frame off
  const LeRobotReader reader(set.root());
  for (std::int64_t e = 0; e < 5; ++e) {
    INFO("episode " << e);
    const std::int64_t length = reader.episode_length(e);
    CHECK(frames_shown(reader, e, "front") == counted(set.first_index(e), length));
    const std::int64_t before = e < 2 ? 0 : set.first_index(2);
    CHECK(frames_shown(reader, e, "wrist") == counted(set.first_index(e) - before, length));
  }
}

TEST_CASE("LeRobot v3.0: the frames of fifty episodes in a file are those of a sequential decode") {
  SharedSetForm form;
  form.lengths.clear();
  form.tables = {counted(0, 50)};
  form.listed_table.assign(50, 0);
  form.front = {counted(0, 50)};
  form.wrist = {counted(0, 20), counted(20, 30)};
  for (std::int64_t e = 0; e < 50; ++e) form.lengths.push_back(2 + e % 4);
  const SharedSet set(form);  // at episode 49 the start time is fourteen frames off
  const LeRobotReader reader(set.root());
  REQUIRE(reader.num_episodes() == 50);
  for (const auto& [camera, files] : {std::pair{"front", form.front}, {"wrist", form.wrist}}) {
    for (std::size_t f = 0; f < files.size(); ++f) {
      const auto path =
          set.root() /
          fmt::format("videos/observation.images.{}/chunk-000/file-{:03}.mp4", camera, f);
      VideoDecoder decoder(std::make_shared<const VideoIndex>(read_video_index(path)));
      const auto all = counted(0, decoder.index().num_frames());
      const at::Tensor whole_THWC = decoder.read_rgb(all);
      std::int64_t first = 0;
      for (const auto e : files[f]) {
        INFO(camera << ", episode " << e);
        const std::int64_t length = reader.episode_length(e);
        const auto wanted = counted(0, length);
        CHECK(reader.read_frames(e, std::string("observation.images.") + camera, wanted)
                  .equal(whole_THWC.narrow(0, first, length)));
        first += length;
      }
      CHECK(first == whole_THWC.size(0));
    }
  }
}

TEST_CASE("LeRobot v3.0: a rate in info.json that is not the videos' does no harm") {
  SharedSetForm form;
  form.fps = 29;
  form.video_fps = 30;
  const SharedSet set(form);
  const LeRobotReader reader(set.root());
  CHECK(frames_shown(reader, 3, "front") == counted(set.first_index(3), 6));
}

TEST_CASE("LeRobot v3.0: discarded episodes keep their rows and frames") {
  SharedSetForm form;
  form.info_extra = "\"discarded_episode_indices\": [0, 3],";
  form.task_column = "task";
  const SharedSet set(form);
  const LeRobotReader reader(set.root());
  REQUIRE(reader.num_episodes() == 3);
  CHECK(reader.episode_number(2) == 4);
  CHECK(integers_of(reader, 2, "index") == counted(18, 2));
  CHECK(frames_shown(reader, 2, "front") == counted(18, 2));
  CHECK(frames_shown(reader, 0, "wrist") == counted(5, 3));
}

TEST_CASE("LeRobot v3.0: streams with frames to spare are read by time") {
  SharedSetForm form;
  form.extra_frames = 1;
  form.drift_s = 0.01;
  const SharedSet set(form);
  const LeRobotReader reader(set.root());
  CHECK(frames_shown(reader, 4, "front") == counted(18, 2));  // 0.04 s off: under half a frame
  CHECK(frames_shown(reader, 2, "wrist") == counted(0, 4));
}

TEST_CASE("LeRobot v3.0: a frame that is more than half a frame away is an error") {
  SharedSetForm form;
  form.extra_frames = -1;
  form.drift_s = 0;
  const SharedSet set(form);
  const LeRobotReader reader(set.root());
  CHECK(frames_shown(reader, 3, "front") == counted(12, 6));
  CHECK_THAT(data_error_of([&] { frames_shown(reader, 4, "front"); }),
             Contains("episode 4, camera observation.images.front: frame 1 should be shown at "
                      "1.900 s") &&
                 Contains("nearest frame is shown at 1.800 s (it has 19 frames") &&
                 Contains("20 rows") && Contains("Fix: "));
}

TEST_CASE("LeRobot v3.0: rows that are not where their index says are errors") {
  const SharedSet set;
  SECTION("a table with another number") {
    set.write_data(1, 1);
    CHECK_THAT(row_error(set, 2), Contains("index 8 to 11, which none of the 3 tables holds"));
    CHECK(row_error(set, 0) == "no error");
  }
  SECTION("a table of another episode") {
    std::filesystem::copy_file(set.table(2), set.table(1),
                               std::filesystem::copy_options::overwrite_existing);
    CHECK_THAT(row_error(set, 2), Contains("none of the 3 tables holds"));
  }
  SECTION("a table that is missing") {
    std::filesystem::remove(set.table(1));
    CHECK_THAT(row_error(set, 2),
               Contains("none of the 2 tables holds (the list names " + set.table(0).string()));
  }
  SECTION("rows of another episode under the right index") {
    write_table(set.table(1), {{"observation.state", float_vectors(4, 2)},
                               {"index", integers({8, 9, 10, 11})},
                               {"episode_index", integers({2, 2, 7, 2})}});
    CHECK_THAT(row_error(set, 2),
               Contains("row 2 has the index 10 of episode 7 where index 10 was"));
  }
  SECTION("rows with a gap") {
    write_table(set.table(1), {{"observation.state", float_vectors(4, 2)},
                               {"index", integers({8, 9, 11, 12})},
                               {"episode_index", integers({2, 2, 2, 2})}});
    CHECK_THAT(row_error(set, 2), Contains("have the index 8 to 12, expected one after the other"));
  }
}

TEST_CASE("LeRobot v3.0: a list without a camera's place says which") {
  const SharedSet set;
  write_table(set.root() / "meta/episodes/chunk-000/file-000.parquet",
              {{"episode_index", integers({0})},
               {"data/chunk_index", integers({0})},
               {"data/file_index", integers({0})},
               {"dataset_from_index", integers({0})},
               {"dataset_to_index", integers({5})}});
  const LeRobotReader reader(set.root());
  CHECK_THAT(data_error_of([&] { frames_shown(reader, 0, "wrist"); }),
             Contains("no columns videos/observation.images.wrist/..."));
}

}  // namespace wam::test
