#pragma once

#include <cstdint>
#include <vector>

#include "apps/wamtrain/bench/context.h"

namespace wam {

// All-gather, reduce-scatter and all-reduce by size over each axis of the recipe's mesh, in the
// types in which weights and gradients travel. All ranks call it together; each has its own times.
BenchResult bench_comm(const BenchContext& context);

// From 1 MiB on in steps of four to `largest`, which is the last.
std::vector<std::int64_t> transfer_sizes(std::int64_t largest);

}  // namespace wam
