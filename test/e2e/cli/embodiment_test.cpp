#include <filesystem>
#include <string>

#include "core/io/atomic_file.h"
#include "test/e2e/cli/workplace.h"
#include "test/e2e/support/program.h"
#include "test/support/catch.h"

using Catch::Contains;
using wam::test::run_wamtrain;
using wam::test::Workplace;

TEST_CASE("embodiment new: a first record of a dataset trains as it was written") {
  const Workplace place;
  const auto done =
      run_wamtrain({"embodiment", "new", "--dataset", "data", "--out", "first.yaml"}, place.path());
  INFO(done.out << done.err);
  REQUIRE(done.exit_code == 1);
  CHECK_THAT(done.out, Contains("written: first.yaml") && Contains("at 10 frames/s a picture every "
                                                                   "2 frames"));
  // 48 frames are less than four blocks of 16; at half the spacing there are windows.
  CHECK_THAT(done.out, Contains("0 of 1 episodes have the 65 frames"));
  CHECK_THAT(done.err, Contains("no episode has 65 frames. Fix: lower action_horizon"));
  std::string text = wam::read_file(place.path() / "first.yaml");
  const auto replace = [&](const std::string& from, const std::string& to) {
    const auto at = text.find(from);
    REQUIRE(at != std::string::npos);
    text.replace(at, from.size(), to);
  };
  replace("video_offsets: [0, 2, 4, 6, 8, 10, 12, 14]", "video_offsets: [0, 1, 2, 3, 4, 5, 6, 7]");
  replace("action_horizon: 16", "action_horizon: 8");
  replace("macro_stride: 16", "macro_stride: 8");
  wam::write_file_atomically(place.path() / "first.yaml", text);

  place.write_recipe("embodiment: tiny", "embodiment: first.yaml");
  const auto trained = run_wamtrain({"train", "recipe.yaml"}, place.path());
  INFO(trained.err);
  CHECK(trained.exit_code == 0);
}

TEST_CASE("embodiment new: what cannot be written is refused with the fix") {
  const Workplace place;
  const auto refused = [&](std::vector<std::string> more, const std::string& expected) {
    more.insert(more.begin(), {"embodiment", "new", "--dataset", "data"});
    const auto done = run_wamtrain(more, place.path());
    INFO(done.err);
    CHECK(done.exit_code == 2);
    CHECK_THAT(done.err, Contains(expected) && Contains("Fix: "));
  };
  refused({"--like", "yum"}, "Fix: write yam.");
  refused({"--like", "franka_pmp"}, "franka_pnp");
  place.write_recipe();
  refused({"--out", "recipe.yaml"}, "recipe.yaml exists");
  refused({"--lik", "yam"}, "unknown flag --lik");
  CHECK(run_wamtrain({"embodiment", "nwe"}, place.path()).exit_code == 2);
  const auto like =
      run_wamtrain({"embodiment", "new", "--dataset", "data", "--like", "yam"}, place.path());
  INFO(like.out << like.err);
  CHECK(like.exit_code == 1);  // its episode is too short
  CHECK_THAT(wam::read_file(place.path() / "yam.yaml"), Contains("top-right view shows the right"));
}
