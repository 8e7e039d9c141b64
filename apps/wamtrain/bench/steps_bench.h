#pragma once

#include "apps/wamtrain/bench/context.h"

namespace wam {

// Whole training steps through the loop that training runs, with encoders and optimizer state: on
// one synthetic batch (`step`), or on the recipe's datasets (`loop`). Nothing is saved but the
// cache of text embeddings.
BenchResult bench_step(const BenchContext& context);
BenchResult bench_loop(const BenchContext& context);

}  // namespace wam
