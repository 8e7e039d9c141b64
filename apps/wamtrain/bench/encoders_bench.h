#pragma once

#include "apps/wamtrain/bench/context.h"

namespace wam {

// The frozen encoders as training calls them, on clips of the recipe's geometry: VAE, its pass over
// a first frame (i2v), CLIP; and the text encoder on prompts of full length.
BenchResult bench_encoders(const BenchContext& context);

}  // namespace wam
