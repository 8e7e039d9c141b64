#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/normalise/dimension_statistics.h"

namespace wam {

// One dimension of a state or an action, as recorded.
struct DimensionSummary {
  std::string name;  // "action.joint_position[3]"
  double min = 0;
  double max = 0;
  double mean = 0;
  double std = 0;
  double q01 = 0;
  double q99 = 0;
  // How many of the sampled rows lie in each of equally wide parts of [low, high], and outside.
  double low = 0;
  double high = 0;
  std::vector<std::int64_t> counts;
  std::int64_t below = 0;
  std::int64_t above = 0;
};

// Of statistics that have passed twice; without name and bars.
DimensionSummary summary_of(const DimensionStatistics& statistics);
// Bars over where most values are, and values counted into them; those that are not finite are
// passed over.
void begin_bars(DimensionSummary& summary);
void count(std::span<const float> values, DimensionSummary& summary);

}  // namespace wam
