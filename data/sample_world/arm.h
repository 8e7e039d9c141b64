#pragma once

#include <array>

namespace wam::sample_world {

// A point of the table top. The arm's base is the origin, x to the right, y away from the base;
// the unit is about the arm's reach.
struct Point {
  double x = 0;
  double y = 0;
};

inline constexpr int kJoints = 3;
// Each joint's angle against the link before it, radians, counter-clockwise; the first against x.
using Joints = std::array<double, kJoints>;

// Base, elbow, wrist and finger tip.
std::array<Point, kJoints + 1> link_ends(const Joints& joints);
// Direction of the hand, radians against x.
double hand_angle(const Joints& joints);

// The pose whose finger tip is at `tip` and whose hand points along +y; the elbow bends clockwise.
// Errors: InvariantError when the tip is out of reach.
Joints reach_pose(Point tip);

// The controller: where the joints are one frame later on the way to `goal`. A straight line in
// joint space with speed kTopSpeed * tanh(distance / kSlowDown): fast while far, gently at the end.
// It has no memory, so (joints, goal) determine everything that follows.
Joints step_towards(const Joints& joints, const Joints& goal);
double joint_distance(const Joints& a, const Joints& b);

}  // namespace wam::sample_world
