#include "data/check/clocks.h"

#include <memory>
#include <vector>

#include "data/video/video_index.h"
#include "test/support/catch.h"

using Catch::Contains;
using wam::Effect;
using wam::EpisodeClocks;
using wam::FaultKind;

namespace {

// Ten rows at 10 frames/s and a video of as many frames.
struct Clocks {
  EpisodeClocks episode{.table = "t.parquet", .length = 10, .fps = 10, .rows = {}, .videos = {}};
  std::shared_ptr<wam::VideoIndex> index = std::make_shared<wam::VideoIndex>();

  Clocks() {
    index->time_base = 1e-3;
    for (std::int64_t i = 0; i < 10; ++i) {
      episode.rows.time_s.push_back(0.1 * static_cast<double>(i));
      episode.rows.frame_index.push_back(i);
      index->pts.push_back(100 * i);
    }
    episode.videos.push_back({"v.mp4", {{.path = "v.mp4", .file_frames = 10}, index}});
  }
  [[nodiscard]] std::vector<wam::Fault> check() const { return check_clocks(episode); }
};

}  // namespace

TEST_CASE("clocks: rows and frames that agree have no fault, nor has a table without times") {
  Clocks clocks;
  CHECK(clocks.check().empty());
  clocks.episode.rows = {};
  CHECK(clocks.check().empty());
}

TEST_CASE("clocks: times that jump where the pictures go on are cut idle frames, a note") {
  Clocks clocks;
  for (std::size_t i = 6; i < 10; ++i) clocks.episode.rows.time_s[i] += 3;
  const auto faults = clocks.check();
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].kind == FaultKind::kIdleFramesCut);
  CHECK(wam::severity_of(faults[0].kind) == wam::Severity::kNote);
  CHECK(faults[0].frame == 6);
  CHECK_THAT(faults[0].message, Contains("1 place,") && Contains("3 s"));

  Clocks numbers;
  for (std::size_t i = 6; i < 10; ++i) numbers.episode.rows.frame_index[i] += 30;
  REQUIRE(numbers.check().size() == 1);
  CHECK(numbers.check()[0].kind == FaultKind::kIdleFramesCut);
}

TEST_CASE("clocks: a jump that rows and pictures share is a gap, not cut idle frames") {
  Clocks clocks;
  for (std::size_t i = 6; i < 10; ++i) {
    clocks.episode.rows.time_s[i] += 3;
    clocks.index->pts[i] += 3000;
  }
  const auto faults = clocks.check();
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].kind == FaultKind::kFrameGap);
  CHECK(faults[0].frame == 6);
}

TEST_CASE("clocks: rows that go back in time are told with the row") {
  Clocks clocks;
  clocks.episode.rows.time_s[4] = 0.1;
  clocks.episode.rows.frame_index[7] = 2;
  const auto faults = clocks.check();
  REQUIRE(faults.size() == 2);
  CHECK(faults[0].kind == FaultKind::kRowOrder);
  CHECK(faults[0].frame == 4);
  CHECK(faults[1].frame == 7);
}

TEST_CASE("clocks: a start time that has drifted is a note where frames are counted") {
  Clocks clocks;
  clocks.episode.videos[0].video.span.from_s = 0.07;
  const auto faults = clocks.check();
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].kind == FaultKind::kDrift);
  CHECK_THAT(faults[0].message, Contains("0.7 frames off"));
}

TEST_CASE("clocks: clocks that part without a gap are a fault that stops nothing") {
  Clocks clocks;
  // By no more than a hundredth a frame, so that it is no rate; nor half a step at once.
  for (std::size_t i = 0; i < 10; ++i) {
    clocks.episode.rows.time_s[i] += i < 3 ? 0 : i < 6 ? 0.03 : 0.06;
  }
  const auto faults = clocks.check();
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].kind == FaultKind::kFrameTimes);
  CHECK(faults[0].effect == Effect::kNone);
}

TEST_CASE("clocks: frames that are not counted are looked up by time, as the reader does") {
  Clocks twice;  // a video of twice the rate has a frame for each row
  twice.index->pts.clear();
  for (std::int64_t i = 0; i < 20; ++i) twice.index->pts.push_back(50 * i);
  auto faults = twice.check();
  REQUIRE(faults.size() == 2);
  CHECK(faults[0].kind == FaultKind::kFrameRate);
  CHECK(faults[1].kind == FaultKind::kFrameCount);

  Clocks timeless;
  timeless.index->pts.resize(8);
  timeless.episode.rows = {};
  faults = timeless.check();
  REQUIRE(faults.size() == 2);
  CHECK(faults[1].kind == FaultKind::kFrameTimes);
  CHECK(faults[1].effect == Effect::kBadSample);
}

TEST_CASE("clocks: of a file of many episodes only this one's frames are looked at") {
  Clocks clocks;
  clocks.index->pts.clear();
  for (std::int64_t i = 0; i < 30; ++i) clocks.index->pts.push_back(100 * i + (i >= 20 ? 900 : 0));
  auto& span = clocks.episode.videos[0].video.span;
  span.first_frame = 10;
  span.from_s = 1;
  span.file_frames = 30;
  CHECK(clocks.check().empty());
  span.first_frame = 15;  // its frames 5 to 9 lie after the gap
  span.from_s = 1.5;
  const auto faults = clocks.check();
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].kind == FaultKind::kFrameGap);
  CHECK(faults[0].frame == 5);
}
