#pragma once

#include <string>

#include <ATen/core/Tensor.h>

#include "core/io/safetensors.h"

namespace wam {

// safetensors name <-> LibTorch type. Errors: DataError for a type LibTorch does not hold.
at::ScalarType scalar_type_of(const std::string& dtype);
std::string dtype_name(at::ScalarType type);

// The mapped bytes as a CPU tensor, without a copy: valid while the file is open; do not write.
at::Tensor map_tensor(const TensorView& view);

}  // namespace wam
