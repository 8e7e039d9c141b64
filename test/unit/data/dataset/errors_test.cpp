#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

#include "core/base/data_errors.h"
#include "data/dataset/window_dataset.h"
#include "data/normalise/compute.h"
#include "test/support/catch.h"
#include "test/unit/data/dataset/arm_set.h"
#include "test/unit/data/video/test_video.h"

using wam::ConfigError;
using wam::DataError;
using wam::open_window_datasets;
using wam::test::arm_member;
using wam::test::arm_options;
using wam::test::ArmSet;
using wam::test::TempFolder;

namespace {

// A set whose pictures are videos; false, said aloud, where no encoder is there.
bool writes_video_set(const std::filesystem::path& root) {
  try {
    wam::test::write_arm_set(root, {.layout = wam::lerobot_writer::PictureLayout::kMp4});
  } catch (const ConfigError& error) {
    std::cout << "SKIPPED: no video encoder: " << error.what() << "\n";
    return false;
  }
  return true;
}

}  // namespace

TEST_CASE("a dataset whose tables lack the action column is refused at once, with what it has") {
  const TempFolder folder;
  wam::test::write_arm_set(folder.path(), {.action_key = "effort"});
  const auto begin = std::chrono::steady_clock::now();

  CHECK_THROWS_WITH(arm_member(folder.path()), Catch::Contains("action") &&
                                                   Catch::Contains("effort") &&
                                                   Catch::Contains("Fix:"));

  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(1));
}

TEST_CASE("a truncated mp4 is an error that names episode and file when it is first touched") {
  const TempFolder folder;
  if (!writes_video_set(folder.path())) return;
  const auto splits = open_window_datasets(arm_options(arm_member(folder.path())));
  const auto& dataset = *splits.training;
  const auto file = folder.path() / "videos/chunk-000/observation.images.right/episode_000001.mp4";
  std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2);
  std::uint64_t window = 0;
  CHECK_NOTHROW(dataset.load(window, 0, wam::Transforms::kTraining));
  while (dataset.identify(window).episode != 1) ++window;

  CHECK_THROWS_AS(dataset.load(window, 0, wam::Transforms::kTraining), DataError);
  CHECK_THROWS_WITH(dataset.load(window, 0, wam::Transforms::kTraining),
                    Catch::Contains("episode 1") && Catch::Contains("episode_000001.mp4") &&
                        Catch::Contains("observation.images.right") && Catch::Contains("Fix:"));
}

TEST_CASE("a video that is cut off, empty or something else is bad content, a missing one is not") {
  const TempFolder folder;
  if (!writes_video_set(folder.path())) return;
  const auto splits = open_window_datasets(arm_options(arm_member(folder.path())));
  const auto& dataset = *splits.training;
  const auto file = folder.path() / "videos/chunk-000/observation.images.right/episode_000001.mp4";
  std::uint64_t window = 0;
  while (dataset.identify(window).episode != 1) ++window;
  const auto load = [&] { return dataset.load(window, 0, wam::Transforms::kTraining); };

  const auto whole = std::filesystem::file_size(file);
  std::filesystem::resize_file(file, whole * 7 / 10);
  CHECK_THROWS_AS(load(), wam::ContentError);
  const wam::test::TestVideo like{.num_frames = 50, .width = 64, .height = 32, .fps = 10};
  auto index_first = like;
  index_first.index_first = true;
  wam::test::write_test_video(file, index_first);
  std::filesystem::resize_file(file, std::filesystem::file_size(file) * 7 / 10);
  CHECK_THROWS_AS(load(), wam::ContentError);
  std::filesystem::resize_file(file, 0);
  CHECK_THROWS_AS(load(), wam::ContentError);
  std::ofstream(file) << "a text of some length, which no decoder takes for a video";
  CHECK_THROWS_AS(load(), wam::ContentError);
  std::filesystem::remove(file);
  CHECK_THROWS_AS(load(), wam::ReadError);
  CHECK_THROWS_WITH(load(), Catch::Contains("episode 1") && Catch::Contains("no such file"));
  std::filesystem::create_directory(file);  // can be opened, and not read
  CHECK_THROWS_AS(load(), wam::ReadError);
  std::filesystem::remove(file);
  auto too_short = like;  // rows whose times lie beyond it
  too_short.num_frames = 3;
  wam::test::write_test_video(file, too_short);
  CHECK_THROWS_AS(load(), wam::ContentError);
  CHECK_THROWS_WITH(load(), Catch::Contains("episode 1") && Catch::Contains("frame"));
}

TEST_CASE("an episode with pictures of another size is bad content") {
  const TempFolder folder;
  const TempFolder other;
  if (!writes_video_set(folder.path())) return;
  wam::test::write_arm_set(other.path(),
                           {.layout = wam::lerobot_writer::PictureLayout::kMp4, .height = 48});
  const auto splits = open_window_datasets(arm_options(arm_member(folder.path())));
  const auto& dataset = *splits.training;
  const std::string file = "videos/chunk-000/observation.images.right/episode_000001.mp4";
  std::filesystem::copy_file(other.path() / file, folder.path() / file,
                             std::filesystem::copy_options::overwrite_existing);
  std::uint64_t window = 0;
  while (dataset.identify(window).episode != 1) ++window;
  const auto load = [&] { return dataset.load(window, 0, wam::Transforms::kTraining); };

  CHECK_THROWS_AS(load(), wam::ContentError);
  CHECK_THROWS_WITH(load(), Catch::Contains("episode 1, camera observation.images.right") &&
                                Catch::Contains("48x64") && Catch::Contains("32x64") &&
                                Catch::Contains("Fix:"));
}

TEST_CASE("a state that is not finite is bad content of the windows that use it") {
  const TempFolder folder;
  const TempFolder whole;
  const std::vector<std::pair<std::int64_t, std::string>> episodes = {{40, "a"}, {40, "b"}};
  wam::test::write_arm_set(whole.path(), {.episodes = episodes});
  wam::test::write_arm_set(folder.path(), {.episodes = episodes, .bad_state = std::pair{1, 9}});
  auto member = arm_member(whole.path());
  member.reader = std::make_shared<wam::LeRobotReader>(folder.path());
  const auto splits = open_window_datasets(arm_options(member));
  const auto& dataset = *splits.training;

  int bad = 0;
  for (std::uint64_t w = 0; w < dataset.size(); ++w) {
    try {
      dataset.load(w, 0, wam::Transforms::kTraining);
    } catch (const wam::ContentError& error) {
      ++bad;
      CHECK(dataset.identify(w).episode == 1);
      CHECK_THAT(error.what(), Catch::Contains("episode 1, frame 9") &&
                                   Catch::Contains("observation.state") && Catch::Contains("Fix:"));
    }
  }
  CHECK(bad > 0);
}

TEST_CASE("a dataset without any window is refused") {
  const TempFolder folder;
  wam::test::write_arm_set(folder.path(), {.episodes = {{20, "a"}, {32, "b"}}});

  CHECK_THROWS_WITH(
      open_window_datasets(arm_options(arm_member(folder.path()))),
      Catch::Contains("none of its 2 episodes has a window") && Catch::Contains("Fix:"));
}

TEST_CASE("holding back everything is refused") {
  const TempFolder folder;
  wam::test::write_arm_set(folder.path());
  auto options = arm_options(arm_member(folder.path()));
  options.members[0].held_back_episodes = 3;

  CHECK_THROWS_WITH(open_window_datasets(options),
                    Catch::Contains("3 of 3 episodes with a window are to be held back"));
}

TEST_CASE("an episode without an instruction is named") {
  const TempFolder folder;
  wam::test::write_arm_set(folder.path(), {.episodes = {{40, "a"}, {41, " "}}});

  CHECK_THROWS_WITH(open_window_datasets(arm_options(arm_member(folder.path()))),
                    Catch::Contains("episode 1, frame 0 has no instruction"));
}

TEST_CASE("what recipe and records get wrong together is reported at once") {
  const TempFolder folder;
  wam::test::write_arm_set(folder.path());
  auto options = arm_options(arm_member(folder.path()));
  options.members.push_back(options.members[0]);
  options.members[1].embodiment.tag = "wide";
  options.members[1].embodiment.canvas_cols = 3;
  options.members[0].embodiment.macro_stride = 4;
  options.view_height = 0;
  options.action_width = 2;

  try {
    open_window_datasets(options);
    FAIL("accepted");
  } catch (const ConfigError& error) {
    const std::string text = error.what();
    CHECK_THAT(text, Catch::Contains("views of 0x64"));
    CHECK_THAT(text, Catch::Contains("macro_stride 4 is below action_horizon 8"));
    CHECK_THAT(text, Catch::Contains("do not stack into one batch"));
    CHECK_THAT(text, Catch::Contains("has 3 action values, the model 2"));
  }
}

TEST_CASE("statistics made for other data are refused") {
  const TempFolder folder;
  wam::test::write_arm_set(folder.path());
  const auto member = arm_member(folder.path());

  auto options = arm_options(member);
  options.members[0].statistics->video.at("left") = {180, 320, 10};
  CHECK_THROWS_WITH(open_window_datasets(options),
                    Catch::Contains("its pictures are 32x64") && Catch::Contains("180x320"));
  options = arm_options(member);
  options.members[0].statistics->video.at("left") = {64, 32, 10};
  CHECK_NOTHROW(open_window_datasets(options));

  options = arm_options(member);
  auto& state = options.members[0].statistics->state.at("joint_position");
  for (auto* values : {&state.min, &state.max, &state.mean, &state.std, &state.q01, &state.q99}) {
    values->push_back(1);
  }
  CHECK_THROWS_WITH(open_window_datasets(options),
                    Catch::Contains("state vector has 3 values") && Catch::Contains("have 4"));

  options = arm_options(member);
  options.members[0].statistics->action.at("joint_position").relative = false;
  CHECK_THROWS_WITH(open_window_datasets(options), Catch::Contains("relative to the state"));
}

TEST_CASE("statistics over the set: absolute states, relative actions of whole blocks") {
  const TempFolder folder;
  wam::test::write_arm_set(folder.path(), {.episodes = {{40, "a"}, {50, "b"}}});
  const auto statistics = arm_member(folder.path()).statistics.value();

  const auto& state = statistics.state.at("joint_position");
  CHECK(state.min[0] == 0);
  CHECK(state.max[1] == 1049.0 / 8 + 0.25);
  const auto& action = statistics.action.at("joint_position");
  CHECK(action.relative == true);
  // j / 8 + 0.5 for j = 0 ... 7, equally often.
  CHECK(action.min[2] == 0.5);
  CHECK(action.max[2] == 7.0 / 8 + 0.5);
  CHECK(action.mean[2] == Approx(3.5 / 8 + 0.5));
  CHECK(action.q01[2] == 0.5);
  CHECK(statistics.video.at("wrist") == wam::CameraMeta{32, 64, 10});
}
