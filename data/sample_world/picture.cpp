#include "data/sample_world/picture.h"

#include <algorithm>
#include <cmath>

namespace wam::sample_world {
namespace {

using Colour = std::array<double, 3>;

constexpr Colour kFloor{120, 124, 132};
constexpr Colour kTable{236, 233, 226};
constexpr Colour kBase{30, 30, 34};
constexpr Colour kUpperArmColour{70, 70, 84};
constexpr Colour kForearmColour{128, 128, 144};
constexpr Colour kHandColour{250, 200, 20};
constexpr std::array<Colour, kBlocks> kBlockColours{{{225, 20, 30}, {10, 165, 40}, {25, 60, 235}}};

constexpr double kBaseRadius = 0.10;
constexpr std::array<double, kJoints> kLinkRadius{0.075, 0.065, 0.05};
constexpr double kCorner = 0.04;  // of a block, radius
constexpr Point kTableCentre{0.0, 0.45};
constexpr Point kTableHalf{1.02, 0.53};

// Where a pixel looks at the table, and how many pixels a unit of length takes there.
struct Ray {
  Point at;
  double pixels_per_unit = 1;
};

// Signed distances: negative inside.
double to_box(Point p, Point centre, Point half, double corner) {
  const double dx = std::abs(p.x - centre.x) - half.x + corner;
  const double dy = std::abs(p.y - centre.y) - half.y + corner;
  const double outside = std::hypot(std::max(dx, 0.0), std::max(dy, 0.0));
  return outside + std::min(std::max(dx, dy), 0.0) - corner;
}

double to_capsule(Point p, Point a, Point b, double radius) {
  const Point ab{b.x - a.x, b.y - a.y};
  const double along = ((p.x - a.x) * ab.x + (p.y - a.y) * ab.y) / (ab.x * ab.x + ab.y * ab.y);
  const double t = std::clamp(along, 0.0, 1.0);
  return std::hypot(p.x - a.x - t * ab.x, p.y - a.y - t * ab.y) - radius;
}

void paint(Colour& pixel, const Colour& colour, double distance, double pixels_per_unit) {
  const double cover = std::clamp(0.5 - distance * pixels_per_unit, 0.0, 1.0);
  for (std::size_t c = 0; c < 3; ++c) pixel[c] += cover * (colour[c] - pixel[c]);
}

// From straight above; the table's far edge is at the top.
Ray look_left(double column, double row) {
  constexpr double kScale = kPictureWidth / 2.2;
  return {{column / kScale - 1.1, 1.0 - row / kScale}, kScale};
}

// From the far side, tilted: near edge (y = kNear) at the bottom, depth 1; the base at depth 1.4.
Ray look_right(double column, double row) {
  constexpr double kNear = 1.0;
  constexpr double kFarDepth = 1.5;
  constexpr double kTilt = 2.4;  // table length per unit of depth
  const double t = row / kPictureHeight;
  const double depth = 1 / ((1 - t) / kFarDepth + t);
  const double half_width = kPictureWidth / 2.0;
  return {{(half_width - column) / half_width * depth, kNear - kTilt * (depth - 1)},
          half_width / depth};
}

// Above the hand, a little ahead of the finger tip; the hand points up in the picture.
Ray look_wrist(double column, double row, Point tip, double angle) {
  constexpr double kScale = 34;
  constexpr double kAhead = 0.12;
  const double right = (column - kPictureWidth / 2.0) / kScale;
  const double ahead = (kPictureHeight / 2.0 - row) / kScale + kAhead;
  return {{tip.x + ahead * std::cos(angle) + right * std::sin(angle),
           tip.y + ahead * std::sin(angle) - right * std::cos(angle)},
          kScale};
}

Colour shade(const Ray& ray, const Scene& scene, const std::array<Point, kJoints + 1>& ends) {
  constexpr std::array kLinkColours{kUpperArmColour, kForearmColour, kHandColour};
  Colour pixel = kFloor;
  const double scale = ray.pixels_per_unit;
  paint(pixel, kTable, to_box(ray.at, kTableCentre, kTableHalf, kCorner), scale);
  for (std::size_t i = 0; i < kBlocks; ++i) {
    constexpr Point kHalf{kBlockHalfWidth, kBlockHalfWidth};
    paint(pixel, kBlockColours[i], to_box(ray.at, scene.block[i], kHalf, kCorner), scale);
  }
  paint(pixel, kBase, std::hypot(ray.at.x, ray.at.y) - kBaseRadius, scale);
  for (std::size_t i = 0; i < kJoints; ++i) {
    paint(pixel, kLinkColours[i], to_capsule(ray.at, ends[i], ends[i + 1], kLinkRadius[i]), scale);
  }
  return pixel;
}

}  // namespace

void draw(std::vector<std::uint8_t>& pixels_HWC,
          int view,
          const Scene& scene,
          const std::array<float, kJoints>& joints) {
  const Joints angles{joints[0], joints[1], joints[2]};
  const auto ends = link_ends(angles);
  const double angle = hand_angle(angles);
  for (int row = 0; row < kPictureHeight; ++row) {
    for (int column = 0; column < kPictureWidth; ++column) {
      const double x = column + 0.5;
      const double y = row + 0.5;
      const Ray ray = view == 0   ? look_left(x, y)
                      : view == 1 ? look_right(x, y)
                                  : look_wrist(x, y, ends[kJoints], angle);
      for (const double value : shade(ray, scene, ends)) {
        pixels_HWC.push_back(static_cast<std::uint8_t>(std::lround(value)));
      }
    }
  }
}

}  // namespace wam::sample_world
