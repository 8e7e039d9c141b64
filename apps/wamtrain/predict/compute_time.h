#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "apps/wamtrain/rates/card_rates.h"
#include "models/wam/config.h"
#include "models/wam/memory.h"
#include "models/wam/recompute.h"

namespace wam {

// Forward and backward of one micro-batch on one GPU, predicted.
struct PassTimes {
  double forward_s = 0;
  double backward_s = 0;  // recomputation included
  std::string basis;      // "measured", or from what it was made

  [[nodiscard]] double total_s() const noexcept { return forward_s + backward_s; }
};

// A measured case as it stands. Else from measured cases of the model:
//
//   1. the time of each without its recomputation, which is its products at the pace of the forward
//      and the tensors built again, read and written at the rate of a copy;
//   2. between two micro-batches a straight line, beyond them proportional to the samples;
//   3. plus the recomputation of the policy that is asked for.
//
// A model of another size takes the cases of the nearest one, scaled by the work of a forward.
// Empty where no case has the compute type.
std::optional<PassTimes> micro_step_times(const CardRates& rates,
                                          const WamConfig& config,
                                          const MicroBatchShape& shape,
                                          const RecomputePlan& recompute);

}  // namespace wam
