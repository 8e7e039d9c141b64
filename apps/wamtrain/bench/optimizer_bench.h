#pragma once

#include "apps/wamtrain/bench/context.h"

namespace wam {

// AdamW over the units of the transformer: gradient norm, decision and update, as a step has them.
BenchResult bench_optimizer(const BenchContext& context);

}  // namespace wam
