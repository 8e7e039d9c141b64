#pragma once

#include <cstdint>
#include <vector>

#include "apps/wamtrain/rates/card_rates.h"
#include "parallel/estimate/overlap.h"
#include "parallel/estimate/spread.h"

namespace wam {

// Where an optimizer step's time goes, on every GPU.
struct StepTime {
  double encoders_s = 0;
  double compute_s = 0;  // forward and backward
  StepCommunication communication;
  double optimizer_s = 0;  // with the state in host memory: update and transfers

  [[nodiscard]] double exposed_s() const noexcept { return communication.exposed_s; }
  [[nodiscard]] double total_s() const noexcept {
    return encoders_s + compute_s + communication.exposed_s + optimizer_s;
  }
};

struct StepShape {
  std::int64_t micro_steps = 1;
  double encoders_s = 0;  // of the step
  double node_gb_s = 0;   // between nodes, each GPU's own share
};

// All rates that the spread needs (needed_rates.h) are known.
//
// With the state in host memory the gradients' way down, the update and the weights' way up run as
// a pipeline, as long as its slowest part; the GPUs of a node share the host's memory.
StepTime step_time(const CardRates& rates,
                   const std::vector<UnitLoad>& units,
                   const Spread& spread,
                   const StepShape& shape);

}  // namespace wam
