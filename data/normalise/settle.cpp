#include "data/normalise/settle.h"

#include <cmath>
#include <limits>

#include <fmt/core.h>

#include "core/base/names.h"
#include "data/normalise/normaliser.h"

namespace wam {
namespace {

bool widen(double& low, double& high, double floor) {
  if (!(high - low < floor)) return false;
  const double middle = low + (high - low) / 2;
  low = middle - floor / 2;
  high = middle + floor / 2;
  // Never a rounding short, or the next time would widen again.
  while (high - low < floor) high = std::nextafter(high, std::numeric_limits<double>::infinity());
  return true;
}

// The dimensions whose bounds of the mode in use were widened.
std::vector<std::string> widen_key(KeyStatistics& key, Normalisation mode, double floor) {
  std::vector<std::string> out;
  for (std::size_t d = 0; d < key.width(); ++d) {
    const bool extremes = widen(key.min[d], key.max[d], floor);
    const bool quantiles = widen(key.q01[d], key.q99[d], floor);
    const bool deviation = key.std[d] < floor / 2;
    if (deviation) key.std[d] = floor / 2;
    if (mode == Normalisation::kMinMax    ? extremes
        : mode == Normalisation::kMeanStd ? deviation
                                          : quantiles) {
      out.push_back(std::to_string(d));
    }
  }
  return out;
}

void widen_keys(std::map<std::string, KeyStatistics>& known,
                const std::vector<std::string>& keys,
                const std::string& kind,
                const Embodiment& embodiment,
                double floor,
                std::vector<std::string>& remarks) {
  for (const auto& key : keys) {
    const auto found = known.find(key);
    if (found == known.end()) continue;  // the normaliser names it
    const std::string name = kind + "." + key;
    const auto widened = widen_key(found->second, embodiment.normalisation.at(name), floor);
    if (widened.empty()) continue;
    remarks.push_back(
        fmt::format("{}: the range of dimension {} is widened to {}", name, join(widened), floor));
  }
}

void follow_embodiment(Statistics& statistics,
                       const Embodiment& embodiment,
                       std::vector<std::string>& remarks) {
  for (auto& [key, action] : statistics.action) {
    if (action.relative) continue;
    action.relative = embodiment.is_relative(key);
    const auto state = statistics.state.find(key);
    if (!*action.relative || state == statistics.state.end()) continue;
    if (!looks_absolute(action, state->second)) continue;
    remarks.push_back(fmt::format(
        "action.{} is trained relative to the state, and its statistics, which do not say what "
        "they "
        "are of, look like those of the action itself (same range as the state's): most values "
        "would lie near a constant. Fix: data.statistics: compute",
        key));
  }
}

}  // namespace

SettledStatistics settle(Statistics statistics, const Embodiment& embodiment, double range_floor) {
  SettledStatistics out{std::move(statistics), {}};
  follow_embodiment(out.statistics, embodiment, out.remarks);
  if (range_floor <= 0) return out;
  widen_keys(out.statistics.state, embodiment.state_keys, "state", embodiment, range_floor,
             out.remarks);
  widen_keys(out.statistics.action, embodiment.action_keys, "action", embodiment, range_floor,
             out.remarks);
  return out;
}

}  // namespace wam
