#include "data/embodiment/known_robots.h"

#include <array>

namespace wam {
namespace {

struct KnownRobot {
  const char* name;
  std::int64_t id;
  bool has_three_views;  // one otherwise
  const char* first_view;
  const char* prompt;
};

constexpr const char* kHands =
    "A multi-view video shows that a robot {instruction} The video is split into four views: The "
    "top-left view shows the camera view from the robot's head, the top-right view shows the "
    "camera view from the right hand, the bottom-left view shows the camera view from the left "
    "hand, and the bottom-right view is a black screen (inactive view). The robot {instruction}";
constexpr const char* kYam =
    "A multi-view video shows that a robot {instruction} The video is split into four views: The "
    "top-left view shows the top camera, the top-right view shows the right camera, the "
    "bottom-left view shows the left camera, and the bottom-right view is a black screen. The "
    "robot {instruction}";
constexpr const char* kSingle = "A single view video shows that a human {instruction}";

constexpr std::array<KnownRobot, 4> kRobots{{{"agibot", 26, true, "head", kHands},
                                             {"gr1_unified", 24, false, "head", kSingle},
                                             {"xdof", 22, true, "head", kHands},
                                             {"yam", 32, true, "top", kYam}}};

}  // namespace

std::optional<Embodiment> known_robot(const std::string& name) {
  for (const KnownRobot& robot : kRobots) {
    if (robot.name != name) continue;
    Embodiment out;
    out.tag = robot.name;
    out.id = robot.id;
    out.prompt = robot.prompt;
    out.views = {robot.first_view};
    out.placements = {{0, 0, 0, 1, 1}};
    out.crop_scale = 0.95;
    out.jitter = {0.3, 0.4, 0.5, 0.08};
    if (!robot.has_three_views) return out;
    out.views.insert(out.views.end(), {"left", "right"});
    out.canvas_rows = 2;
    out.canvas_cols = 2;
    out.placements.push_back({1, 1, 0, 1, 1});
    out.placements.push_back({2, 0, 1, 1, 1});
    return out;
  }
  return std::nullopt;
}

std::vector<std::string> known_robot_names() {
  std::vector<std::string> names;
  for (const KnownRobot& robot : kRobots) names.emplace_back(robot.name);
  return names;
}

}  // namespace wam
