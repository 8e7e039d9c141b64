#pragma once

#include <memory>

#include "apps/wamtrain/bench/context.h"
#include "core/train/dataset.h"
#include "models/wam/frozen_encoders.h"

// What whole steps of a benchmark read when it is not a dataset.

namespace wam {

// The micro-batches of this rank's part of one synthetic global batch, over and over.
std::unique_ptr<BatchSource> make_synthetic_source(const BenchContext& context);
// The recipe's encoders, or with --no-encoders values as they would come from them.
std::unique_ptr<FrozenEncoders> make_step_encoders(const BenchContext& context);

}  // namespace wam
