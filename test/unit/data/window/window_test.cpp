#include "data/window/window.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "test/support/catch.h"

using wam::valid_starts;
using wam::Window;
using wam::window_at;
using wam::WindowRule;

namespace {

using Frames = std::vector<std::int64_t>;

WindowRule droid(bool bug_compatible) {
  return {4, 24, 24, {0, 3, 6, 9, 12, 15, 18, 21}, bug_compatible};
}
WindowRule libero(bool bug_compatible) {
  return {4, 16, 16, {0, 3, 6, 9, 12, 15, 18, 21}, bug_compatible};
}
WindowRule franka(bool bug_compatible) {
  return {4, 12, 12, {0, 1, 2, 3, 4, 5, 6, 7}, bug_compatible};
}

Frames one_label(std::int64_t length) {
  return Frames(static_cast<std::size_t>(length), 7);
}

Frames two_labels(std::int64_t first, std::int64_t length) {
  Frames labels(static_cast<std::size_t>(length), 1);
  for (std::int64_t i = 0; i < first; ++i) labels[static_cast<std::size_t>(i)] = 0;
  return labels;
}

struct Ends {
  Frames state;
  std::int64_t first_video;
  std::int64_t last_video;
};

void check_window(const std::optional<Window>& window,
                  const WindowRule& rule,
                  const Ends& expected) {
  REQUIRE(window.has_value());
  CHECK(window->state == expected.state);
  REQUIRE(static_cast<std::int64_t>(window->video.size()) == rule.clip_frames());
  CHECK(window->video.front() == expected.first_video);
  CHECK(window->video.back() == expected.last_video);
  REQUIRE(static_cast<std::int64_t>(window->action.size()) == rule.blocks * rule.horizon);
  CHECK(window->action.front() == expected.state.front());
  CHECK(window->action.back() == expected.state.back() + rule.horizon - 1);
}

}  // namespace

TEST_CASE("the reference's windows of DROID come out of the bug-compatible rule") {
  const auto rule = droid(true);
  for (const std::int64_t start : {0, 24, 48, 72, 96}) {
    check_window(window_at(one_label(97), start, rule), rule, {{0, 24, 48, 72}, 0, 96});
  }
  check_window(window_at(one_label(130), 50, rule), rule, {{2, 26, 50, 74}, 2, 98});
  check_window(window_at(one_label(130), 105, rule), rule, {{33, 57, 81, 105}, 33, 129});
  check_window(window_at(one_label(130), 129, rule), rule, {{33, 57, 81, 105}, 33, 129});
  CHECK_FALSE(window_at(one_label(97), 1, rule));
  CHECK_FALSE(window_at(one_label(130), 106, rule));
  for (const std::int64_t start : {4, 76}) {
    check_window(window_at(one_label(101), start, rule), rule, {{4, 28, 52, 76}, 4, 100});
  }
  for (const std::int64_t start : {5, 77}) CHECK_FALSE(window_at(one_label(101), start, rule));
}

TEST_CASE("anchors stay within the instruction of the start frame") {
  for (const bool bug_compatible : {false, true}) {
    const auto rule = droid(bug_compatible);
    const auto labels = two_labels(60, 200);
    check_window(window_at(labels, 70, rule), rule, {{70, 94, 118, 142}, 70, 166});
    check_window(window_at(labels, 100, rule), rule, {{76, 100, 124, 148}, 76, 172});
    CHECK_FALSE(window_at(labels, 59, rule));
    CHECK_FALSE(window_at(labels, 12, rule));
  }
}

TEST_CASE("a later span of the same instruction is not reached across another one") {
  Frames labels = one_label(300);
  for (std::size_t i = 60; i < 180; ++i) labels[i] = 8;

  CHECK_FALSE(window_at(labels, 30, droid(false)));
  CHECK(window_at(labels, 190, droid(false)));
}

TEST_CASE("LIBERO: the reference's video and actions part where ours stay together") {
  for (const std::int64_t start : {0, 64}) {
    check_window(window_at(one_label(73), start, libero(true)), libero(true),
                 {{0, 16, 32, 48}, 0, 72});
  }
  check_window(window_at(one_label(160), 80, libero(true)), libero(true),
               {{48, 64, 80, 96}, 48, 120});
  for (const std::int64_t start : {122, 138}) {
    CHECK_FALSE(window_at(one_label(160), start, libero(true)));
  }

  // The reference pairs the video of 75 ... 123 with actions of 91 ... 139.
  check_window(window_at(one_label(160), 123, libero(false)), libero(false),
               {{75, 91, 107, 123}, 75, 147});
  for (const std::int64_t start : {123, 139}) {
    const auto parted = window_at(one_label(160), start, libero(true));
    REQUIRE(parted);
    CHECK(parted->state == Frames{91, 107, 123, 139});
    CHECK(parted->action.front() == 91);
    CHECK(parted->video.front() == 75);
    CHECK(parted->video.back() == 147);
  }
  // 139 + 24 does not exist, so the anchor is passed over.
  check_window(window_at(one_label(160), 139, libero(false)), libero(false),
               {{75, 91, 107, 123}, 75, 147});
}

TEST_CASE("LIBERO's frames interleave as the published recipe has them") {
  const auto window = window_at(one_label(73), 0, libero(false));

  REQUIRE(window);
  CHECK(window->video == Frames{0,  3,  6,  9,  12, 15, 16, 18, 19, 21, 22, 25, 28, 31, 32, 34, 35,
                                37, 38, 41, 44, 47, 48, 50, 51, 53, 54, 57, 60, 63, 66, 69, 72});
}

TEST_CASE("the last window of an episode is used when its actions and its closing frame exist") {
  // Anchor 36 has actions up to 47 and closes the clip at 44.
  check_window(window_at(one_label(48), 0, franka(false)), franka(false), {{0, 12, 24, 36}, 0, 44});
  CHECK_FALSE(window_at(one_label(48), 0, franka(true)));
  CHECK_FALSE(window_at(one_label(47), 0, franka(false)));
  // The reference pairs actions of 0 ... 47 with the video from 12 on.
  for (const std::int64_t start : {36, 48}) {
    const auto parted = window_at(one_label(60), start, franka(true));
    REQUIRE(parted);
    CHECK(parted->state == Frames{0, 12, 24, 36});
    CHECK(parted->video.front() == 12);
    CHECK(parted->video.back() == 56);
  }
  check_window(window_at(one_label(60), 48, franka(false)), franka(false),
               {{12, 24, 36, 48}, 12, 56});
}

TEST_CASE(
    "Franka's frames skip what lies between the blocks, and close eight after the last anchor") {
  for (const bool bug_compatible : {false, true}) {
    const auto window = window_at(one_label(49), 0, franka(bug_compatible));
    REQUIRE(window);
    Frames expected;
    for (const std::int64_t anchor : {0, 12, 24, 36}) {
      for (std::int64_t k = 0; k < 8; ++k) expected.push_back(anchor + k);
    }
    expected.push_back(44);
    CHECK(window->video == expected);
    CHECK(window->state == Frames{0, 12, 24, 36});
  }
}

TEST_CASE("rejected and parted starts of a long episode are as many as the reference has") {
  struct Row {
    WindowRule rule;
    std::int64_t shortest;
    std::size_t rejected;
    int parted;
  };
  for (const auto& row :
       {Row{droid(true), 97, 2, 0}, Row{libero(true), 73, 9, 15}, Row{franka(true), 49, 0, 2}}) {
    const auto labels = one_label(400);
    const auto starts = valid_starts(labels, row.rule);
    CHECK(400 - starts.size() == row.rejected);
    int parted = 0;
    for (const auto f : starts) {
      const auto window = window_at(labels, f, row.rule);
      parted += window->video.front() != window->state.front() ? 1 : 0;
    }
    CHECK(parted == row.parted);
    CHECK_FALSE(valid_starts(one_label(row.shortest), row.rule).empty());
    CHECK(valid_starts(one_label(row.shortest - 1), row.rule).empty());
  }
}

TEST_CASE("the last window and the shortest episode") {
  for (const auto& [rule, shortest] :
       {std::pair{droid(false), 97}, {libero(false), 73}, {franka(false), 48}}) {
    CHECK(rule.shortest_episode() == shortest);
    CHECK_FALSE(valid_starts(one_label(shortest), rule).empty());
    CHECK(valid_starts(one_label(shortest - 1), rule).empty());
    // The last anchor that fits is used.
    const auto window = window_at(one_label(200), 199, rule);
    if (window) CHECK(window->video.back() <= 199);
  }
}

TEST_CASE("nothing of a window reaches into the next instruction, as the reference's blocks do") {
  // Anchors 0 ... 72 need frames up to 96: one more than the first instruction has.
  const auto labels = two_labels(96, 300);
  CHECK(window_at(labels, 0, droid(true)));
  CHECK_FALSE(window_at(labels, 0, droid(false)));
  CHECK(window_at(two_labels(97, 300), 0, droid(false)));
  for (const auto& rule : {droid(false), libero(false), franka(false)}) {
    const auto mixed = two_labels(131, 300);
    for (const auto f : valid_starts(mixed, rule)) {
      const auto window = window_at(mixed, f, rule);
      REQUIRE(window);
      const auto label = [&](std::int64_t i) { return mixed[static_cast<std::size_t>(i)]; };
      CHECK(label(window->video.front()) == label(f));
      CHECK(label(std::max(window->video.back(), window->action.back())) == label(f));
    }
  }
}

TEST_CASE("fixed windows are consecutive frames, clamped to the episode") {
  auto rule = libero(false);
  rule.sampling = wam::Sampling::kFixedWindow;
  CHECK(valid_starts(two_labels(20, 50), rule).size() == 50);
  const auto window = window_at(two_labels(20, 50), 30, rule);
  REQUIRE(window);
  REQUIRE(window->video.size() == 33);
  CHECK(window->video[0] == 30);
  CHECK(window->video[19] == 49);
  CHECK(window->video[32] == 49);
  CHECK(window->state == Frames{30, 46, 49, 49});
  REQUIRE(window->action.size() == 64);
  CHECK(window->action[18] == 48);
  CHECK(window->action[63] == 49);
  CHECK(rule.shortest_episode() == 1);
  CHECK(window_at(one_label(200), 7, rule)->action.back() == 7 + 63);
}

TEST_CASE("partial windows have as many blocks as fit, from one to K") {
  for (const bool bug_compatible : {false, true}) {
    auto rule = droid(bug_compatible);
    rule.sampling = wam::Sampling::kMultiAnchorPartial;
    for (const std::int64_t length : {25, 49, 60, 73, 97, 140}) {
      for (std::int64_t f = 0; f < length; ++f) {
        const auto window = window_at(one_label(length), f, rule);
        if (!window) continue;
        const auto n = static_cast<std::int64_t>(window->state.size());
        REQUIRE(n >= 1);
        REQUIRE(n <= 4);
        CHECK(static_cast<std::int64_t>(window->video.size()) == 8 * n + 1);
        CHECK(static_cast<std::int64_t>(window->action.size()) == 24 * n);
        CHECK(window->video.back() < length);
      }
    }
    CHECK(window_at(one_label(97), 1, rule)->state == Frames{1, 25, 49});
    CHECK(window_at(one_label(97), 0, rule)->state == Frames{0, 24, 48, 72});
    CHECK(valid_starts(one_label(25), rule) == Frames{0, 24});
    CHECK(valid_starts(one_label(24), rule).empty());
  }
}

TEST_CASE("starts are enumerated once and agree with the windows themselves") {
  for (const bool bug_compatible : {false, true}) {
    for (const auto& rule :
         {droid(bug_compatible), libero(bug_compatible), franka(bug_compatible)}) {
      for (const auto& labels : {one_label(120), two_labels(101, 131), one_label(30)}) {
        const auto starts = valid_starts(labels, rule);
        Frames expected;
        for (std::int64_t f = 0; f < static_cast<std::int64_t>(labels.size()); ++f) {
          if (window_at(labels, f, rule)) expected.push_back(f);
        }
        CHECK(starts == expected);
      }
    }
  }
  CHECK(valid_starts(one_label(97), droid(false)) == Frames{0, 24, 48, 72, 96});
  CHECK(valid_starts(one_label(96), droid(false)).empty());
  CHECK(valid_starts(one_label(30), droid(true)).empty());
}

TEST_CASE(
    "in every window each block's actions start at its anchor, and the frames come from the "
    "anchors") {
  for (const auto& rule : {droid(false), libero(false), franka(false)}) {
    const auto labels = two_labels(101, 231);
    for (const auto start : valid_starts(labels, rule)) {
      const auto window = window_at(labels, start, rule);
      REQUIRE(window);
      for (std::int64_t c = 0; c < rule.blocks; ++c) {
        const auto anchor = window->state[static_cast<std::size_t>(c)];
        REQUIRE(window->action[static_cast<std::size_t>(c * rule.horizon)] == anchor);
      }
      REQUIRE(static_cast<std::int64_t>(window->video.size()) == rule.clip_frames());
      REQUIRE(window->video.front() == window->state.front());
      REQUIRE(window->video.back() == window->state.back() + rule.offsets.back() + rule.offsets[1]);
      REQUIRE(window->video.back() < 231);
    }
  }
}

TEST_CASE("rules that can never give a window are named at the start") {
  CHECK(wam::rule_problems(droid(false)).empty());
  CHECK(wam::rule_problems(libero(false)).empty());
  auto rule = droid(false);
  rule.stride = 12;
  rule.horizon = 12;
  REQUIRE(wam::rule_problems(rule).size() == 1);
  CHECK_THAT(wam::rule_problems(rule)[0], Catch::Contains("collide"));
  rule.horizon = 24;
  CHECK(wam::rule_problems(rule).size() == 2);
}
