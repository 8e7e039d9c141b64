#include "data/sample_world/arm.h"

#include <cmath>
#include <numbers>

#include "core/base/errors.h"

namespace wam::sample_world {
namespace {

constexpr double kUpperArm = 0.50;
constexpr double kForearm = 0.42;
constexpr double kHand = 0.20;
constexpr double kTopSpeed = 0.10;  // radians a frame
constexpr double kSlowDown = 1.0;   // radians

}  // namespace

std::array<Point, kJoints + 1> link_ends(const Joints& joints) {
  constexpr std::array kLengths{kUpperArm, kForearm, kHand};
  std::array<Point, kJoints + 1> ends{};
  double angle = 0;
  for (std::size_t i = 0; i < kJoints; ++i) {
    angle += joints[i];
    ends[i + 1] = {ends[i].x + kLengths[i] * std::cos(angle),
                   ends[i].y + kLengths[i] * std::sin(angle)};
  }
  return ends;
}

double hand_angle(const Joints& joints) {
  return joints[0] + joints[1] + joints[2];
}

Joints reach_pose(Point tip) {
  constexpr double kUp = std::numbers::pi / 2;
  const Point wrist{tip.x, tip.y - kHand};
  const double square = wrist.x * wrist.x + wrist.y * wrist.y;
  const double cosine =
      (square - kUpperArm * kUpperArm - kForearm * kForearm) / (2 * kUpperArm * kForearm);
  invariant(std::abs(cosine) <= 1, "a pose of the sample arm whose finger tip is within reach");
  const double elbow = -std::acos(cosine);
  const double shoulder = std::atan2(wrist.y, wrist.x) -
                          std::atan2(kForearm * std::sin(elbow), kUpperArm + kForearm * cosine);
  return {shoulder, elbow, kUp - shoulder - elbow};
}

double joint_distance(const Joints& a, const Joints& b) {
  double square = 0;
  for (std::size_t i = 0; i < kJoints; ++i) square += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(square);
}

Joints step_towards(const Joints& joints, const Joints& goal) {
  const double distance = joint_distance(joints, goal);
  if (distance == 0) return goal;
  const double share = kTopSpeed * std::tanh(distance / kSlowDown) / distance;
  Joints next{};
  for (std::size_t i = 0; i < kJoints; ++i) {
    next[i] = joints[i] + share * (goal[i] - joints[i]);
  }
  return next;
}

}  // namespace wam::sample_world
