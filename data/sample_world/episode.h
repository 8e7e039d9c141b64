#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/sample_world/arm.h"

namespace wam::sample_world {

inline constexpr int kBlocks = 3;
inline constexpr std::array<std::string_view, kBlocks> kColours{"red", "green", "blue"};
inline constexpr double kBlockHalfWidth = 0.14;

// What an episode is about: where the block of each colour lies and which one is named.
struct Scene {
  std::array<Point, kBlocks> block;  // centre, by colour
  int named = 0;                     // colour
};

// "reach for the red block"
std::string instruction(int colour);
// The pose at the end: the finger tip touches the near edge of the block.
Joints goal_pose(const Scene& scene, int colour);

// One episode: joint angles and the controller's targets, which are the angles one frame later.
struct Episode {
  Scene scene;
  std::vector<std::array<float, kJoints>> state;
  std::vector<std::array<float, kJoints>> action;
};

// Three places (left, middle, right), one block in each, a little displaced. With probability
// `home_share` every colour lies in its home place, else the colours are dealt at random: so the
// prompt alone tells something, and only prompt and picture together tell all. The arm starts
// near one of the other two blocks: then its pose does not give away where it is going. It stays
// a few frames where it arrives; 45 to 80 frames in all.
// A function of (seed, episode_idx, home_share) alone.
Episode simulate(std::uint64_t seed, std::int64_t episode_idx, double home_share);

}  // namespace wam::sample_world
