#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "data/sample_world/episode.h"

namespace wam::sample_world {

inline constexpr int kPictureHeight = 32;
inline constexpr int kPictureWidth = 64;
inline constexpr int kViews = 3;
// left: straight down on the whole table. right: from the far side of the table, in perspective,
// so that left and right are exchanged and the base is far away. wrist: on the hand, turns with it.
inline constexpr std::array<std::string_view, kViews> kViewNames{"left", "right", "wrist"};

// RGB, 8 bits, (kPictureHeight, kPictureWidth, 3), appended to `pixels_HWC`. Edges are
// anti-aliased, so that movements below a pixel show.
void draw(std::vector<std::uint8_t>& pixels_HWC,
          int view,
          const Scene& scene,
          const std::array<float, kJoints>& joints);

}  // namespace wam::sample_world
