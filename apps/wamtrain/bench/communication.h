#pragma once

#include <functional>

#include "apps/wamtrain/bench/context.h"

namespace wam {

// What a step costs on one mesh.
struct StepCost {
  double step_s = 0;
  double host_s = 0;  // to submit a micro-step; 0: not measured
  // Forward and backward of the step, where it has more; 0: it has not.
  double compute_s = 0;
};

// Adds what communication costs, where the mesh has several ranks: `measured` is the step on it,
// `measure` times the same step again without collectives and, with --against-one, as one rank
// alone does its part, each at the same time on all ranks.
void add_communication(BenchResult& out,
                       const BenchContext& context,
                       const StepCost& measured,
                       const std::function<StepCost(const BenchMesh& mesh)>& measure);

}  // namespace wam
