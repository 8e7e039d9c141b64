#pragma once

#include "apps/wamtrain/bench/context.h"

namespace wam {

// The transformer's forward and backward on random values; neither encoders nor optimizer state.
BenchResult bench_model(const BenchContext& context);

}  // namespace wam
