#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "core/train/unit.h"
#include "models/wam/config.h"

namespace wam {

// The initial value of a parameter: a function of seed and name alone, whatever the order, the
// threads and the device. `out` may have any float type and be a view.
//
// Source: DreamZero @ ab790c1, constructor of CausalWanModel: Xavier-uniform linear weights with
// zero bias; text and time embeddings N(0, 0.02^2); patch embedding Xavier-uniform over its flat
// view with the bias of a convolution; head zero; modulations N(0, 1) / sqrt(width); category
// weights 0.02 N(0, 1); norms one (their biases zero).
// Errors: InvariantError for a name that is no parameter of the transformer.
void initialise_parameter(const TensorSpec& tensor,
                          const WamConfig& config,
                          std::uint64_t seed,
                          at::Tensor out);

}  // namespace wam
