#include "test/support/catch.h"
#include "test/unit/data/dataset/arm_set.h"

using namespace wam;
using namespace wam::test;

TEST_CASE("counting windows finds what opening the datasets finds") {
  const TempFolder folder;
  write_arm_set(folder.path() / "set");
  auto member = arm_member(folder.path() / "set");
  member.held_back_episodes = 1;
  for (const bool bug_compatible : {false, true}) {
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      auto options = arm_options(member);
      options.seed = seed;
      options.bug_compatible = bug_compatible;

      const auto counts = count_windows(options);

      const auto splits = open_window_datasets(options);
      REQUIRE(counts.size() == 1);
      CHECK(counts[0].training_windows == splits.training->size());
      CHECK(counts[0].held_back_windows == splits.held_back->size());
      CHECK(counts[0].training_episodes == splits.training->episodes(0).size());
      CHECK(counts[0].held_back_episodes == splits.held_back->episodes(0).size());
    }
  }
}
