#pragma once

#include <filesystem>
#include <map>
#include <string>

#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>

#include "core/io/safetensors.h"
#include "core/io/tensor_file.h"
// After LibTorch's headers, which have a CHECK of their own.
#include "test/support/catch.h"

namespace wam::test {

// start, start + 1, … over 3, in this shape and type.
inline at::Tensor ramp(const std::vector<std::int64_t>& shape,
                       double start,
                       at::ScalarType type = at::kFloat) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return at::arange(start, start + static_cast<double>(count), at::kDouble)
      .mul(1.0 / 3)
      .to(type)
      .view(shape);
}

inline void write_tensors(const std::filesystem::path& path,
                          const std::map<std::string, at::Tensor>& tensors) {
  std::vector<TensorHeader> headers;
  for (const auto& [name, t] : tensors) {
    headers.push_back({name, dtype_name(t.scalar_type()), t.sizes().vec()});
  }
  SafetensorsWriter writer(path, headers, {{"format", "pt"}});
  for (const auto& entry : tensors) {
    writer.write_next(entry.second.const_data_ptr(), entry.second.nbytes());
  }
  writer.finish();
}

}  // namespace wam::test
