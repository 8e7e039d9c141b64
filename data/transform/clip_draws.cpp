#include "data/transform/clip_draws.h"

#include <array>
#include <cstddef>
#include <utility>

namespace wam {
namespace {

std::int64_t scaled(std::int64_t size, double scale) {
  return static_cast<std::int64_t>(static_cast<double>(size) * scale);
}

// (in - crop) / 2, a half rounded to even.
std::int64_t centre_offset(std::int64_t in, std::int64_t crop) {
  const std::int64_t room = in - crop;
  const std::int64_t half = room / 2;
  return room % 2 == 0 ? half : half + half % 2;
}

float factor_of(float uniform, double centre, double strength) {
  return static_cast<float>(centre - strength + 2 * strength * static_cast<double>(uniform));
}

}  // namespace

std::int64_t ViewGeometry::crop_height() const {
  return scaled(in_height, crop_scale);
}
std::int64_t ViewGeometry::crop_width() const {
  return scaled(in_width, crop_scale);
}

ClipDraws draw_clip(const ViewGeometry& geometry,
                    const JitterStrength& strength,
                    const CounterStream& stream) {
  const auto offset = [&](std::int64_t room, std::uint64_t draw) {
    return static_cast<std::int64_t>(stream.below(static_cast<std::uint64_t>(room) + 1, draw));
  };
  ClipDraws draws;
  draws.top = offset(geometry.in_height - geometry.crop_height(), 0);
  draws.left = offset(geometry.in_width - geometry.crop_width(), 1);
  std::array<std::size_t, 4> order = {0, 1, 2, 3};
  for (std::uint64_t last = 3; last >= 1; --last) {
    std::swap(order[last], order[stream.below(last + 1, 5 - last)]);
  }
  const std::array<double, 4> strengths = {strength.brightness, strength.contrast,
                                           strength.saturation, strength.hue};
  for (const std::size_t i : order) {
    if (strengths[i] <= 0) continue;
    const auto op = static_cast<JitterOp>(i);
    const double centre = op == JitterOp::kHue ? 0 : 1;
    draws.add(op, factor_of(stream.uniform(10 + i), centre, strengths[i]));
  }
  return draws;
}

ClipDraws centre_clip(const ViewGeometry& geometry) {
  ClipDraws draws;
  draws.top = centre_offset(geometry.in_height, geometry.crop_height());
  draws.left = centre_offset(geometry.in_width, geometry.crop_width());
  return draws;
}

}  // namespace wam
