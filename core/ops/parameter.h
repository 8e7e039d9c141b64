#pragma once

#include <ATen/core/Tensor.h>

namespace wam {

// One parameter as an operator sees it: a view of the unit's compute copy and a view of the unit's
// gradient (in the state type). The gradient is undefined for a frozen parameter and in forward.
struct Parameter {
  at::Tensor value;
  at::Tensor gradient;
};

// The type in which statistics, softmax and reductions over values of `type` are evaluated.
inline at::ScalarType accumulate_type(at::ScalarType type) {
  return type == at::kDouble ? at::kDouble : at::kFloat;
}

}  // namespace wam
