#include "data/sample_world/episode.h"

#include <fmt/core.h>

#include "core/base/errors.h"
#include "core/random/counter.h"

namespace wam::sample_world {
namespace {

// Left, middle, right: also the home places of red, green and blue.
constexpr std::array<Point, kBlocks> kPlaces{Point{-0.66, 0.55}, {0.0, 0.72}, {0.66, 0.55}};
constexpr double kBlockJitter = 0.08;
constexpr double kPoseJitter = 0.30;  // radians, every joint
constexpr double kArrived = 0.08;     // radians
constexpr int kLeastFrames = 45;
constexpr int kMostFrames = 80;
constexpr std::array<std::array<int, kBlocks>, 6> kDeals{
    {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}};

// Draws one after the other.
class Draws {
 public:
  Draws(std::uint64_t seed, std::int64_t episode_idx)
      : stream_(seed, Purpose::kSampleWorld, static_cast<std::uint64_t>(episode_idx)) {}
  double uniform() { return stream_.uniform_double(next_++); }
  double around_zero(double half_width) { return half_width * (2 * uniform() - 1); }
  int below(int bound) {
    return static_cast<int>(stream_.below(static_cast<std::uint64_t>(bound), next_++));
  }

 private:
  CounterStream stream_;
  std::uint64_t next_ = 0;
};

Scene draw_scene(Draws& draws, double home_share) {
  const bool home = draws.uniform() < home_share;
  const auto& place_of = kDeals[home ? 0 : static_cast<std::size_t>(draws.below(kDeals.size()))];
  Scene scene;
  for (std::size_t colour = 0; colour < kBlocks; ++colour) {
    const Point place = kPlaces[static_cast<std::size_t>(place_of[colour])];
    scene.block[colour] = {place.x + draws.around_zero(kBlockJitter),
                           place.y + draws.around_zero(kBlockJitter)};
  }
  scene.named = draws.below(kBlocks);
  return scene;
}

std::array<float, kJoints> rounded(const Joints& joints) {
  return {static_cast<float>(joints[0]), static_cast<float>(joints[1]),
          static_cast<float>(joints[2])};
}

}  // namespace

std::string instruction(int colour) {
  return fmt::format("reach for the {} block", kColours[static_cast<std::size_t>(colour)]);
}

Joints goal_pose(const Scene& scene, int colour) {
  const Point block = scene.block[static_cast<std::size_t>(colour)];
  return reach_pose({block.x, block.y - kBlockHalfWidth});
}

Episode simulate(std::uint64_t seed, std::int64_t episode_idx, double home_share) {
  Draws draws(seed, episode_idx);
  Episode episode;
  episode.scene = draw_scene(draws, home_share);
  const int start_colour = (episode.scene.named + 1 + draws.below(kBlocks - 1)) % kBlocks;
  Joints joints = goal_pose(episode.scene, start_colour);
  for (double& angle : joints) angle += draws.around_zero(kPoseJitter);
  const Joints goal = goal_pose(episode.scene, episode.scene.named);
  int frames_left = 4 + draws.below(5);  // once arrived
  for (int frame = 0; frame < kLeastFrames || frames_left > 0; ++frame) {
    invariant(frame < kMostFrames, "the sample arm arrives within an episode");
    if (joint_distance(joints, goal) < kArrived) --frames_left;
    episode.state.push_back(rounded(joints));
    joints = step_towards(joints, goal);
    episode.action.push_back(rounded(joints));
  }
  return episode;
}

}  // namespace wam::sample_world
