#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/train/batch.h"
#include "core/train/sharding.h"
#include "models/wam/config.h"
#include "models/wam/step.h"

// Values for benchmarks: of the size that real ones have, and the same at every run.

namespace wam {

// Normal values with this standard deviation, a pattern of 2^20 that repeats.
at::Tensor random_values(const std::vector<std::int64_t>& shape,
                         at::Device device,
                         at::ScalarType type,
                         double deviation);
void fill_random(const at::Tensor& flat, double deviation);

// A micro-batch as the encoders would give it, full length, actions included.
EncodedBatch synthetic_encoded(const WamConfig& config,
                               std::int64_t samples,
                               std::int64_t text_rows,
                               at::Device device,
                               at::ScalarType type);
// One as the loader would give it, with pictures of the model's target size, on the CPU. Ordinals
// count from `first`.
Batch synthetic_batch(const WamConfig& config,
                      std::int64_t samples,
                      std::int64_t text_rows,
                      std::uint64_t first);

// Weights, and masters and gradients where there are any.
void fill_units(Sharding& sharding);

}  // namespace wam
