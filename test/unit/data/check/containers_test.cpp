#include <fstream>
#include <string>

#include "core/io/atomic_file.h"
#include "data/check/check.h"
#include "data/check/verdict.h"
#include "test/support/catch.h"
#include "test/unit/data/check/check_set.h"
#include "test/unit/data/lerobot/shared_set.h"
#include "test/unit/data/video/test_video.h"

using Catch::Contains;
using wam::CheckDepth;
using wam::FaultKind;
using wam::Verdict;
using wam::test::check_options;
using wam::test::faults_of;
using wam::test::in_short;
using wam::test::WrittenSet;
using Shorts = std::vector<std::string>;

namespace {

void cut_to(const std::filesystem::path& file, std::uintmax_t percent) {
  std::filesystem::resize_file(file, std::filesystem::file_size(file) * percent / 100);
}

// A video of the set's size in the place of another.
void put_video(const std::filesystem::path& file, wam::test::TestVideo video) {
  video.width = 64;
  video.height = 32;
  wam::test::write_test_video(file, video);
}

Verdict verdict(const wam::CheckReport& report, bool skips) {
  return wam::judge({report}, skips).verdict;
}

}  // namespace

TEST_CASE("check: a whole set has no faults, in every layout and depth") {
  using namespace wam::lerobot_writer;
  for (const auto version : {Version::k21, Version::k30}) {
    for (const auto layout : {PictureLayout::kMp4, PictureLayout::kImages}) {
      const WrittenSet set({.layout = layout, .version = version});
      for (const auto depth : {CheckDepth::kQuick, CheckDepth::kFull}) {
        const auto report = wam::check_dataset(check_options(set.root(), depth));
        CHECK(report.faults.empty());
        CHECK(report.num_rows() == 4 * 48);
        CHECK(report.num_windows() == 4 * 48);
        CHECK(verdict(report, false) == Verdict::kRunsThrough);
      }
    }
  }
}

TEST_CASE("check: videos that are cut off, empty or none are listed with file and episode") {
  for (const bool full : {false, true}) {
    const WrittenSet set({.episodes = 5});
    put_video(set.video("wrist", 1), {.num_frames = 48, .fps = 10, .index_first = true});
    cut_to(set.video("wrist", 1), 70);
    put_video(set.video("left", 2), {.num_frames = 48, .fps = 10});
    cut_to(set.video("left", 2), 70);
    cut_to(set.video("left", 3), 0);
    std::ofstream(set.video("right", 4), std::ios::trunc) << "no video, whatever its name says";
    const auto report = wam::check_dataset(
        check_options(set.root(), full ? CheckDepth::kFull : CheckDepth::kQuick));

    REQUIRE(in_short(report) ==
            Shorts{"unreadable video 1 -1 bad sample", "unreadable video 2 -1 bad sample",
                   "unreadable video 3 -1 bad sample", "unreadable video 4 -1 bad sample"});
    CHECK(report.faults[0].file == "videos/chunk-000/observation.images.wrist/episode_000001.mp4");
    CHECK_THAT(report.faults[0].message, Contains("is cut off") && Contains("48 frames"));
    CHECK_THAT(report.faults[2].message, Contains("(0 bytes)"));
    CHECK_THAT(report.faults[3].fix, Contains("restore"));
    CHECK(verdict(report, false) == Verdict::kEnds);
    CHECK(verdict(report, true) == Verdict::kSkips);
  }
}

TEST_CASE("check: a missing video ends a run whatever it skips, one of the first episode at once") {
  const WrittenSet set;
  std::filesystem::remove(set.video("right", 2));
  auto report = wam::check_dataset(check_options(set.root(), CheckDepth::kQuick));
  REQUIRE(in_short(report) == Shorts{"missing video 2 -1 read error"});
  CHECK_THAT(report.faults[0].message, Contains("no such file"));
  CHECK(verdict(report, true) == Verdict::kEnds);

  std::filesystem::remove(set.video("left", 0));
  report = wam::check_dataset(check_options(set.root(), CheckDepth::kQuick));
  REQUIRE(in_short(report) == Shorts{"missing video 0 -1 start", "missing video 2 -1 read error"});
  CHECK(verdict(report, true) == Verdict::kNoStart);
}

TEST_CASE("check: a bad video of an episode without a window stops nothing") {
  const WrittenSet set({.frames = 20});
  std::filesystem::remove(set.video("right", 2));
  const auto report = wam::check_dataset(check_options(set.root(), CheckDepth::kQuick));
  const auto missing = faults_of(report, FaultKind::kMissingVideo);
  REQUIRE(missing.size() == 1);
  CHECK(missing[0].effect == wam::Effect::kNone);
  CHECK(faults_of(report, FaultKind::kNoWindows).size() == 1);
}

TEST_CASE("check: rows whose time lies beyond the container are bad samples from the first on") {
  const WrittenSet set;
  put_video(set.video("left", 1), {.num_frames = 36, .fps = 10});
  const auto report = wam::check_dataset(check_options(set.root()));
  REQUIRE(in_short(report) == Shorts{"frame count 1 -1 none", "frame times 1 36 bad sample"});
  CHECK_THAT(report.faults[0].message, Contains("36 frames") && Contains("48 rows"));
  CHECK_THAT(report.faults[1].message, Contains("12 of 48 rows"));
}

TEST_CASE("check: a rate in info.json that is not the videos' is told, and stops nothing") {
  const WrittenSet set;
  const auto info = set.root() / "meta/info.json";
  std::string text = wam::read_file(info);
  const auto at = text.find("\"fps\": 10");
  REQUIRE(at != std::string::npos);
  std::ofstream(info, std::ios::trunc) << text.replace(at, 9, "\"fps\": 11");
  const auto report = wam::check_dataset(check_options(set.root(), CheckDepth::kQuick));

  // Of every episode its table and its three videos.
  const auto rates = faults_of(report, FaultKind::kFrameRate);
  CHECK(rates.size() == 4 * 4);
  CHECK(report.faults.size() == rates.size());
  CHECK_THAT(rates[0].message, Contains("info.json says 11"));
  CHECK(verdict(report, false) == Verdict::kRunsThrough);
}

TEST_CASE("check: pictures lost in a video are a gap") {
  const WrittenSet set;
  std::vector<std::int64_t> late(48, 0);
  for (std::size_t i = 30; i < late.size(); ++i) late[i] = 16 * 20;  // two seconds
  put_video(set.video("left", 1), {.num_frames = 48, .fps = 10, .extra_ticks = late});
  const auto report = wam::check_dataset(check_options(set.root(), CheckDepth::kQuick));
  const auto gaps = faults_of(report, FaultKind::kFrameGap);
  REQUIRE(gaps.size() == 1);
  CHECK(gaps[0].episode == 1);
  CHECK(gaps[0].frame == 30);
  CHECK_THAT(gaps[0].message, Contains("2 s in all"));
}

TEST_CASE("check: a video of another size is told, and bad content where it is drawn") {
  const WrittenSet set;
  wam::test::write_test_video(set.video("wrist", 3),
                              {.num_frames = 48, .width = 48, .height = 32, .fps = 10});
  const auto report = wam::check_dataset(check_options(set.root()));
  REQUIRE(in_short(report) == Shorts{"picture size 3 -1 bad sample"});
  CHECK_THAT(report.faults[0].message, Contains("32x48") && Contains("32x64"));
}

TEST_CASE("check: a table that is missing or damaged does not hide the other episodes") {
  const WrittenSet set;
  std::filesystem::remove(set.table(0));
  cut_to(set.table(2), 70);
  cut_to(set.video("left", 3), 0);
  const auto report = wam::check_dataset(check_options(set.root()));
  REQUIRE(in_short(report) ==
          Shorts{"table 0 -1 start", "table 2 -1 start", "unreadable video 3 -1 bad sample"});
  CHECK(report.faults[0].file == "data/chunk-000/episode_000000.parquet");
  CHECK(report.num_episodes == 4);
  CHECK(report.episodes.size() == 2);
}

TEST_CASE("check: metadata that cannot be read is the report") {
  const wam::test::TempFolder folder;
  const auto report = wam::check_dataset(check_options(folder.path()));
  REQUIRE(in_short(report) == Shorts{"metadata -1 -1 start"});
  CHECK_THAT(report.faults[0].message, Contains("meta/info.json"));
  CHECK(verdict(report, true) == Verdict::kNoStart);
}

TEST_CASE("check: v3.0 with drifting start times and a list that is one file off has no fault") {
  wam::test::SharedSetForm form;
  form.lengths.assign(50, 4);
  form.tables = {{}, {}};
  form.front = {{}};
  form.wrist = {{}, {}};
  form.listed_table.assign(50, 0);  // the second file's first episode names the first file
  for (std::int64_t e = 0; e < 50; ++e) {
    form.tables[e < 30 ? 0 : 1].push_back(e);
    form.front[0].push_back(e);
    form.wrist[e < 20 ? 0 : 1].push_back(e);
    if (e > 30) form.listed_table[static_cast<std::size_t>(e)] = 1;
  }
  const wam::test::SharedSet set(form);
  auto options = check_options(set.root());
  auto& record = options.embodiment;
  record.views = {"front", "wrist"};
  record.canvas_rows = 1;
  record.placements = {{0, 0, 0, 1, 1}, {1, 0, 1, 1, 1}};
  record.column_map["state.joint_position"] = {"observation.state", 0, 2};
  record.column_map["action.joint_position"] = {"observation.state", 0, 2};
  const auto report = wam::check_dataset(options);
  CHECK(report.num_episodes == 50);
  CHECK(report.num_rows() == 200);
  CHECK(faults_of(report, FaultKind::kDrift).size() > 40);
  for (const auto& fault : report.faults) {
    INFO(fault.message);
    const bool is_of_files = fault.kind < FaultKind::kNotFinite;
    CHECK_FALSE(is_of_files);
  }
}
