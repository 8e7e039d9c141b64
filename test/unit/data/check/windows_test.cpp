#include "data/check/windows.h"

#include <fstream>

#include "data/check/check.h"
#include "data/dataset/window_dataset.h"
#include "data/normalise/compute.h"
#include "test/support/catch.h"
#include "test/unit/data/check/check_set.h"

using Catch::Contains;
using wam::CheckDepth;
using wam::FaultKind;
using wam::lerobot_writer::PictureLayout;
using wam::lerobot_writer::Recording;
using wam::test::check_options;
using wam::test::faults_of;
using wam::test::in_short;
using wam::test::WrittenSet;

namespace {

wam::CheckReport quick(const WrittenSet& set) {
  return wam::check_dataset(check_options(set.root(), CheckDepth::kQuick));
}

}  // namespace

TEST_CASE("check: empty instructions keep a run from starting, as they do when it is opened") {
  const WrittenSet set({.layout = PictureLayout::kImages, .edit = [](std::int64_t e, Recording& r) {
                          if (e == 2) r.task = " ";
                        }});
  const auto report = quick(set);
  REQUIRE(in_short(report) == std::vector<std::string>{"no instruction 2 0 start"});
  CHECK_THAT(report.faults[0].message, Contains("48 windows"));
}

TEST_CASE("check: 'not provided' alone is a note") {
  const WrittenSet set({.layout = PictureLayout::kImages, .edit = [](std::int64_t e, Recording& r) {
                          if (e == 1) r.task = "not provided";
                        }});
  const auto report = quick(set);
  REQUIRE(report.faults.size() == 1);
  CHECK(report.faults[0].kind == FaultKind::kWithoutText);
  CHECK_THAT(report.faults[0].message, Contains("48 windows") && Contains("episodes 1"));
}

TEST_CASE(
    "check: episodes without a window are listed once, and a set of nothing else is a fault") {
  const auto cut = [](std::int64_t e, Recording& recording) {
    if (e == 1 || e == 2) recording.frames = 20;
    for (auto& pictures : recording.pictures_THWC) {
      pictures.resize(pictures.size() / 48 * static_cast<std::size_t>(recording.frames));
    }
    for (auto& vector : recording.vectors) {
      vector.resize(3 * static_cast<std::size_t>(recording.frames));
    }
  };
  const WrittenSet some({.layout = PictureLayout::kImages, .edit = cut});
  auto report = quick(some);
  REQUIRE(report.faults.size() == 1);
  CHECK(report.faults[0].kind == FaultKind::kShortEpisode);
  CHECK_THAT(report.faults[0].message,
             Contains("2 of 4 episodes") && Contains("33 frames") && Contains("1-2"));
  REQUIRE(report.episodes.size() == 4);
  CHECK(report.episodes[0].windows == 48);
  CHECK(report.episodes[1].windows == 0);

  const WrittenSet none({.frames = 20, .layout = PictureLayout::kImages});
  report = quick(none);
  REQUIRE(in_short(report) == std::vector<std::string>{"no windows -1 -1 start"});
}

TEST_CASE("check: starts that step_filter.jsonl rules out are no windows") {
  const WrittenSet set({.layout = PictureLayout::kImages});
  std::ofstream(set.root() / "meta/step_filter.jsonl")
      << R"({"episode_index": 1, "step_indices": [0, 1, 2, 40]})"
      << "\n";
  const auto report = quick(set);
  CHECK(report.episodes[1].windows == 44);
  CHECK(report.episodes[1].first == 3);
}

TEST_CASE("check: columns that the record names and the tables lack are the report") {
  const WrittenSet set({.layout = PictureLayout::kImages});
  auto options = check_options(set.root(), CheckDepth::kQuick);
  options.embodiment.column_map["action.joint_position"].column = "effort";
  const auto report = wam::check_dataset(options);
  REQUIRE(in_short(report) == std::vector<std::string>{"columns -1 -1 start"});
  CHECK_THAT(report.faults[0].message, Contains("effort"));
}

TEST_CASE("check: a filter leaves episodes out, which is noted") {
  const WrittenSet set({.layout = PictureLayout::kImages});
  std::filesystem::remove(set.table(3));
  auto options = check_options(set.root(), CheckDepth::kQuick);
  options.filter.episodes = {"0:3"};
  const auto report = wam::check_dataset(options);
  CHECK(in_short(report).empty());
  CHECK(report.num_episodes == 3);
  CHECK(faults_of(report, FaultKind::kLeftOut).size() == 1);
}

TEST_CASE("check: a total in info.json that the list does not add up to is told") {
  const WrittenSet set({.layout = PictureLayout::kImages});
  const auto list = set.root() / "meta/episodes.jsonl";
  std::ifstream in(list);
  std::string kept;
  std::string line;
  for (int i = 0; i < 3 && std::getline(in, line); ++i) kept += line + "\n";
  std::ofstream(list, std::ios::trunc) << kept;
  const auto report = quick(set);
  REQUIRE(in_short(report) == std::vector<std::string>{"metadata -1 -1 none"});
  CHECK_THAT(report.faults[0].message, Contains("192") && Contains("144"));
}
