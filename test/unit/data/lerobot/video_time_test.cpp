#include <cmath>
#include <filesystem>
#include <vector>

#include "data/lerobot/reader.h"
#include "test/support/catch.h"
#include "test/unit/data/lerobot/small_set.h"
#include "test/unit/data/video/test_video.h"

namespace wam::test {
namespace {

constexpr const char* kFront = "observation.images.front";
constexpr const char* kCamera = R"("observation.images.front": {"dtype": "video",
  "shape": [48, 64, 3], "names": ["height", "width", "channels"]}, "task_index":)";

// SmallSet, whose episode 0 has 5 rows at 10 frames/s, with this video.
struct TimedSet {
  SmallSet set;
  explicit TimedSet(const TestVideo& video) {
    set.edit("info.json", "\"task_index\":", kCamera);
    const auto folder = set.root() / "videos/chunk-000" / kFront;
    std::filesystem::create_directories(folder);
    write_test_video(folder / "episode_000000.mp4", video);
  }
  // The frame of the file that row `row` shows.
  [[nodiscard]] std::int64_t shown(std::int64_t row) const {
    const std::int64_t rows[] = {row};
    const at::Tensor rgb_THWC = LeRobotReader(set.root()).read_frames(0, kFront, rows);
    const double grey = rgb_THWC.to(at::kDouble).mean().item<double>() * 219.0 / 255.0 + 16;
    for (std::int64_t frame = 0; frame < 25; ++frame) {
      if (std::abs(grey - grey_of(frame)) < 3) return frame;
    }
    return -1;
  }
};

}  // namespace

TEST_CASE("video time: as many frames as rows are row by row, whatever their times") {
  const TimedSet uneven({.num_frames = 5, .fps = 10, .extra_ticks = {0, 3, 0, 30, 400}});
  const TimedSet faster({.num_frames = 5, .fps = 30});
  for (std::int64_t row = 0; row < 5; ++row) {
    CHECK(uneven.shown(row) == row);
    CHECK(faster.shown(row) == row);
  }
}

TEST_CASE("video time: a stream of twice the rate is read at the rows' times") {
  const TimedSet set({.num_frames = 10, .fps = 20});
  for (std::int64_t row = 0; row < 5; ++row) CHECK(set.shown(row) == 2 * row);
}

TEST_CASE("video time: a gap in the stream is an error for the rows inside it") {
  // Frames at 0, 0.1, 0.2, then from 0.7 s on; one too many, so that they are not counted.
  const std::int64_t late = 4 * 16;
  const TimedSet set({.num_frames = 6, .fps = 10, .extra_ticks = {0, 0, 0, late, late, late}});
  CHECK(set.shown(2) == 2);
  CHECK_THAT(data_error_of([&] { static_cast<void>(set.shown(4)); }),
             Catch::Contains("frame 4 should be shown at 0.400 s"));
}

}  // namespace wam::test
