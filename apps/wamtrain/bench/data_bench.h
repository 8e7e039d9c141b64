#pragma once

#include "apps/wamtrain/bench/context.h"

namespace wam {

// The loader alone, from disk to batches in host memory, or, where data.transform_on is gpu, to
// images on it (then also against decoding alone); and the transform of a sample's pictures on one
// thread, against torchvision where the options name the script.
BenchResult bench_data(const BenchContext& context);

}  // namespace wam
