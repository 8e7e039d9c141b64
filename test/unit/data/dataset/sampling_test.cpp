#include <set>
#include <string>
#include <vector>

#include "core/base/errors.h"
#include "test/support/catch.h"
#include "test/unit/data/dataset/arm_set.h"

using wam::open_window_datasets;
using wam::Sampling;
using wam::Transforms;
using wam::test::arm_member;
using wam::test::arm_options;
using wam::test::TempFolder;

TEST_CASE("partial windows: samples of one to four blocks, and a window that stands for each") {
  const TempFolder folder;
  wam::test::write_arm_set(folder.path(),
                           {.episodes = {{40, "a"}, {20, "b"}, {30, "c"}, {8, "d"}}});
  for (const bool bug_compatible : {false, true}) {
    auto options = arm_options(arm_member(folder.path()));
    options.sampling = Sampling::kMultiAnchorPartial;
    options.bug_compatible = bug_compatible;
    const auto dataset = std::move(open_window_datasets(options).training);
    const auto shapes = dataset->shapes();
    std::vector<std::int64_t> blocks;
    for (const auto window : shapes) {
      const auto sample = dataset->load(window, 0, Transforms::kEvaluation);
      const std::int64_t n = sample.state_NS.size(0);
      blocks.push_back(n);
      CHECK(sample.action_PA.size(0) == 8 * n);
      CHECK(sample.action_mask_PA.size(0) == 8 * n);
      CHECK(sample.clip.frames() == 8 * n + 1);
    }
    CHECK(blocks == std::vector<std::int64_t>{1, 2, 3, 4});
    std::set<std::int64_t> seen;
    for (std::uint64_t w = 0; w < dataset->size(); ++w) {
      seen.insert(dataset->load(w, w, Transforms::kTraining).state_NS.size(0));
    }
    CHECK(seen == std::set<std::int64_t>(blocks.begin(), blocks.end()));
  }
}

TEST_CASE("partial windows: what is held back for validation has all blocks") {
  const TempFolder folder;
  wam::test::write_arm_set(folder.path(), {.episodes = {{40, "a"}, {20, "b"}, {36, "c"}}});
  for (const bool bug_compatible : {false, true}) {
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      auto member = arm_member(folder.path());
      member.held_back_episodes = 1;
      auto options = arm_options(member);
      options.sampling = Sampling::kMultiAnchorPartial;
      options.bug_compatible = bug_compatible;
      options.seed = seed;
      const auto splits = open_window_datasets(options);
      REQUIRE(splits.held_back);
      CHECK(splits.held_back->episodes(0) != std::vector<std::int64_t>{1});
      CHECK(splits.held_back->shapes().size() == 1);
      for (std::uint64_t w = 0; w < splits.held_back->size(); ++w) {
        const auto sample = splits.held_back->load(w, w, Transforms::kEvaluation);
        REQUIRE(sample.state_NS.size(0) == 4);
      }
      const auto counts = wam::count_windows(options);
      CHECK(counts[0].held_back_windows == splits.held_back->size());
      CHECK(counts[0].training_windows == splits.training->size());
    }
  }
  auto member = arm_member(folder.path());
  member.held_back_episodes = 3;
  auto options = arm_options(member);
  options.sampling = Sampling::kMultiAnchorPartial;
  CHECK_THROWS_WITH(open_window_datasets(options),
                    Catch::Contains("more than the 2 with a window of all blocks"));
}

TEST_CASE("fixed windows: every frame starts one, and the last frame repeats") {
  const TempFolder folder;
  wam::test::write_arm_set(folder.path(), {.episodes = {{40, "a"}, {20, "b"}}});
  auto options = arm_options(arm_member(folder.path()));
  options.sampling = Sampling::kFixedWindow;
  const auto dataset = std::move(open_window_datasets(options).training);
  REQUIRE(dataset->size() == 60);
  CHECK(dataset->shapes() == std::vector<std::uint64_t>{0});

  const auto sample = dataset->load(30, 0, Transforms::kEvaluation);
  REQUIRE(sample.clip.frames() == 33);
  const auto& view_THWC = sample.clip.view_THWC[0];  // frame i has the level i in channel 1
  for (std::int64_t t = 0; t < 33; ++t) {
    CHECK(view_THWC[t][0][0][1].item<int>() == std::min<std::int64_t>(30 + t, 39));
  }
  CHECK(sample.state_NS[2].equal(sample.state_NS[3]));
  CHECK_FALSE(sample.state_NS[0].equal(sample.state_NS[1]));
}

TEST_CASE("episodes without a window and instructions that were not provided are told once") {
  const TempFolder folder;
  wam::test::write_arm_set(
      folder.path(),
      {.episodes = {{40, "a"}, {20, "b"}, {21, "c"}, {22, "d"}, {36, "not provided"}, {9, "e"}}});
  const auto splits = open_window_datasets(arm_options(arm_member(folder.path())));
  const std::string name = folder.path().filename().string();
  CHECK(splits.notes ==
        std::vector<std::string>{
            name + ": 4 of 6 episodes without a window (all shorter than 33 frames): 1-3, 5",
            name + ": 20 windows in 1 of 6 episodes have no instruction but 'not provided', and "
                   "are trained with that text"});
  CHECK(splits.training->prompts().size() == 2);

  wam::test::write_arm_set(folder.path() / "fine", {.episodes = {{40, "a"}}});
  CHECK(open_window_datasets(arm_options(arm_member(folder.path() / "fine"))).notes.empty());
}

TEST_CASE("datasets whose pictures differ in size are refused with both sizes") {
  const TempFolder folder;
  wam::test::write_arm_set(folder.path() / "one");
  wam::test::write_arm_set(folder.path() / "other", {.height = 48});
  auto options = arm_options(arm_member(folder.path() / "one"));
  options.members.push_back(options.members[0]);
  CHECK_NOTHROW(open_window_datasets(options));
  options.members[1] = arm_member(folder.path() / "other");
  CHECK_THROWS_AS(open_window_datasets(options), wam::ConfigError);
  CHECK_THROWS_WITH(open_window_datasets(options), Catch::Contains("32x64") &&
                                                       Catch::Contains("48x64") &&
                                                       Catch::Contains("Fix:"));
}

TEST_CASE("a filter of episodes holds for windows, statistics and the index") {
  const TempFolder folder;
  wam::test::write_arm_set(folder.path() / "set");
  const auto options_of = [&](const wam::EpisodeFilter& filter) {
    auto member = arm_member(folder.path() / "set");
    member.reader = std::make_shared<wam::LeRobotReader>(folder.path() / "set", filter);
    auto options = arm_options(member);
    options.index.folder = folder.path() / "index";
    return options;
  };
  // One after the other over the same index folder, each twice: built, then read.
  for (int round = 0; round < 2; ++round) {
    using Numbers = std::vector<std::int64_t>;
    CHECK(open_window_datasets(options_of({})).training->episodes(0) == Numbers{0, 1, 3});
    CHECK(open_window_datasets(options_of({.episodes = {"1:"}})).training->episodes(0) ==
          Numbers{1, 3});
    CHECK(open_window_datasets(options_of({.max_length = 45})).training->episodes(0) ==
          Numbers{0, 3});
  }
}
