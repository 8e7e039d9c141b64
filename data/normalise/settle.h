#pragma once

#include <string>
#include <vector>

#include "data/embodiment/embodiment.h"
#include "data/normalise/statistics.h"

namespace wam {

// Statistics as a run normalises with and keeps in its metadata.json, from which inference undoes
// the normalisation: one truth for both.
struct SettledStatistics {
  Statistics statistics;
  std::vector<std::string> remarks;  // what was changed or looks wrong, for the log
};

// Actions whose statistics do not say whether they are relative to the state follow the embodiment;
// a remark where their numbers look like those of the action itself.
//
// A dimension of the embodiment's keys whose values lie in less than `range_floor` gets wider
// bounds: min and max, and q01 and q99, part evenly around their middle until they are range_floor
// apart, and std becomes half of it. 0: none. Settling twice changes nothing more.
SettledStatistics settle(Statistics statistics, const Embodiment& embodiment, double range_floor);

}  // namespace wam
