#pragma once

#include <cstdint>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include "core/random/counter.h"

namespace wam::test {

// Standard normals in double; the same for a key always.
inline at::Tensor normals(const std::vector<std::int64_t>& shape, std::uint64_t key) {
  at::Tensor out = at::empty(shape, at::kFloat);
  CounterStream(3, Purpose::kInitialise, key).normals(out.mutable_data_ptr<float>(), out.numel());
  return out.to(at::kDouble);
}

// Largest difference, relative to the largest expected value.
inline double largest_error(const at::Tensor& found, const at::Tensor& expected) {
  return ((found - expected).abs().max() / expected.abs().max()).item<double>();
}

}  // namespace wam::test
