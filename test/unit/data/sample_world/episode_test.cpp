#include "data/sample_world/episode.h"

#include <cmath>
#include <numbers>

#include "test/support/catch.h"

namespace wam::sample_world {

TEST_CASE("Sample arm: the reaching pose puts the finger tip on the point, hand upwards") {
  for (const Point tip : {Point{-0.66, 0.41}, Point{0.0, 0.58}, Point{0.66, 0.41}}) {
    const Joints pose = reach_pose(tip);

    CHECK(link_ends(pose)[kJoints].x == Approx(tip.x).margin(1e-12));
    CHECK(link_ends(pose)[kJoints].y == Approx(tip.y).margin(1e-12));
    CHECK(hand_angle(pose) == Approx(std::numbers::pi / 2));
    CHECK(pose[1] < 0);
  }
}

TEST_CASE("Sample arm: it moves straight in joint space, fast at first, and arrives") {
  const Joints goal{1.0, -1.2, 1.7};
  Joints joints{3.2, -1.2, -0.4};
  double distance = joint_distance(joints, goal);
  double step_before = 0.2;
  for (int frame = 0; frame < 100; ++frame) {
    const Joints next = step_towards(joints, goal);
    const double step = joint_distance(joints, next);

    CHECK(step <= step_before + 1e-12);
    CHECK(joint_distance(next, goal) == Approx(distance - step));
    step_before = step;
    joints = next;
    distance -= step;
  }
  CHECK(distance < 0.01);
}

TEST_CASE("Sample episodes: actions are the next states and end at the named block") {
  for (std::int64_t i = 0; i < 200; ++i) {
    const Episode episode = simulate(11, i, 0.5);
    const Point block = episode.scene.block[static_cast<std::size_t>(episode.scene.named)];
    const auto tip_of = [](const auto& joints) {
      return link_ends({joints[0], joints[1], joints[2]})[kJoints];
    };
    const Point first = tip_of(episode.state.front());
    const Point last = tip_of(episode.state.back());

    CHECK(episode.state.size() >= 45);
    CHECK(episode.state.size() <= 80);
    CHECK(episode.action.size() == episode.state.size());
    for (std::size_t t = 0; t + 1 < episode.state.size(); ++t) {
      CHECK(episode.action[t] == episode.state[t + 1]);
    }
    CHECK(std::hypot(last.x - block.x, last.y + kBlockHalfWidth - block.y) < 0.08);
    CHECK(std::hypot(first.x - block.x, first.y + kBlockHalfWidth - block.y) > 0.2);
  }
}

TEST_CASE("Sample episodes: the home share decides how often colours lie in their home places") {
  const auto share_at_home = [](double home_share) {
    int home = 0;
    for (std::int64_t i = 0; i < 1000; ++i) {
      const auto block = simulate(5, i, home_share).scene.block;
      home += block[0].x < -0.4 && std::abs(block[1].x) < 0.2 && block[2].x > 0.4 ? 1 : 0;
    }
    return home / 1000.0;
  };

  CHECK(share_at_home(1.0) == 1.0);
  CHECK(share_at_home(0.0) == Approx(1.0 / 6).margin(0.04));
  CHECK(share_at_home(0.5) == Approx(7.0 / 12).margin(0.05));
}

TEST_CASE("Sample episodes: a function of seed and index") {
  CHECK(simulate(1, 4, 0.5).state == simulate(1, 4, 0.5).state);
  CHECK(simulate(1, 4, 0.5).state != simulate(2, 4, 0.5).state);
  CHECK(simulate(1, 4, 0.5).state != simulate(1, 5, 0.5).state);
}

}  // namespace wam::sample_world
