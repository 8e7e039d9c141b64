#include <cmath>
#include <numbers>

#include <fmt/core.h>

#include "data/check/values.h"

// The part of ValueChecks that is about actions which jump.

namespace wam {
namespace {

constexpr double kFarSteps = 10;    // times the step that 99 % stay below
constexpr double kFarShare = 0.25;  // of a dimension's range
constexpr double kHabit = 0.2;      // of the episodes: so is how a dimension moves
constexpr double kTurnTolerance = 0.3;

bool is_turn(double step) {
  return std::abs(step - 2 * std::numbers::pi) < kTurnTolerance;
}

}  // namespace

void ValueChecks::add_jumps(const std::vector<DimensionSummary>& all,
                            std::vector<Fault>& faults) const {
  for (std::size_t d = 0; d < dimensions_.size(); ++d) {
    const Dimension& dimension = dimensions_[d];
    if (!dimension.is_action || !dimension.takes_part || dimension.steps.num_values() == 0)
      continue;
    const double usual = summary_of(dimension.steps).q99;
    if (usual == 0) continue;  // it moves in jumps alone, as a gripper does
    const double far = std::max(kFarSteps * usual, kFarShare * (all[d].q99 - all[d].q01));
    std::vector<std::size_t> found;
    std::size_t turns = 0;
    for (std::size_t e = 0; e < episodes_.size(); ++e) {
      if (episodes_[e].length == 0 || episodes_[e].extent[d].step <= far) continue;
      found.push_back(e);
      turns += is_turn(static_cast<double>(episodes_[e].extent[d].step)) ? 1U : 0U;
    }
    const auto share = static_cast<double>(found.size()) / static_cast<double>(episodes_.size());
    if (found.size() > 2 && share > kHabit && turns < found.size()) continue;
    for (const std::size_t e : found) faults.push_back(jump(d, e, usual));
  }
}

// Whether the state jumps with the action: no robot does, so frames are missing in between.
bool ValueChecks::state_jumps_too(std::size_t d, std::size_t e) const {
  const Dimension& action = dimensions_[d];
  const Extent& jump = episodes_[e].extent[d];
  const std::string key = "state." + action.key.substr(action.key.find('.') + 1);
  for (std::size_t s = 0; s < dimensions_.size(); ++s) {
    if (dimensions_[s].key != key || dimensions_[s].in_key != action.in_key) continue;
    const Extent& state = episodes_[e].extent[s];
    return std::abs(state.step_row - jump.step_row) <= 1 && 2 * state.step > jump.step;
  }
  return false;
}

Fault ValueChecks::jump(std::size_t d, std::size_t e, double usual) const {
  const Extent& extent = episodes_[e].extent[d];
  const auto idx = static_cast<std::int64_t>(e);
  const bool turn = is_turn(static_cast<double>(extent.step));
  const bool cut = !turn && state_jumps_too(d, e);
  const char* what = turn ? ": an angle that wraps around"
                          : (cut ? ", and the state with it: frames were cut out" : "");
  const char* fix = turn ? "unwrap the angle before recording it"
                         : (cut ? "" : "look at the frame; leave the episode out");
  return {cut ? FaultKind::kIdleFramesCut : FaultKind::kJump,
          Effect::kNone,
          names_.table(idx),
          names_.number(idx),
          extent.step_row,
          fmt::format("{} jumps by {:.4g}, where 99 % of its steps are below {:.2g}{}",
                      name(dimensions_[d]), extent.step, usual, what),
          fix};
}

}  // namespace wam
