#pragma once

#include <cstdint>
#include <vector>

#include "parallel/estimate/links.h"
#include "parallel/estimate/spread.h"

namespace wam {

// Communication of an optimizer step, in seconds.
struct StepCommunication {
  double busy_s = 0;     // the collectives themselves, without uploads from host memory
  double waits_s = 0;    // of compute for them, and what runs when compute has ended
  double exposed_s = 0;  // by what the step is longer: waits, and the compute that is lost
};

struct OverlapRates {
  LinkRates links;
  // Seconds of compute that are lost to a second of collectives beneath it (they take SMs and
  // memory bandwidth).
  double overlap_cost = 0;
};

// Walks the units of each micro-step with two queues, compute and communication:
//
//   forward   the gather of the next block is issued when a unit's compute starts (the slot of the
//             block before is free then); compute waits for its own gather
//   backward  the same downwards, without the last blocks, whose weights are still there; where
//             gradients are reduced, a unit's reduction is issued when its backward is done, and
//             with gradients in slots a backward waits for a free one
//   update    weights that are gathered after it travel alone
//
// What is not a wait is hidden beneath compute, and costs of it.
StepCommunication communication_of(const std::vector<UnitLoad>& units,
                                   const Spread& spread,
                                   std::int64_t micro_steps,
                                   const OverlapRates& rates);

}  // namespace wam
