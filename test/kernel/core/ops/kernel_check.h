#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "core/cuda/device.h"
#include "core/random/counter.h"

// What tests of kernels against their plain twins share.
namespace wam::test {

inline bool skipped_without_gpu() {
  if (gpu_available()) return false;
  std::puts("SKIPPED: no GPU");
  return true;
}

// Normal draws on the GPU.
inline at::Tensor gpu_normals(std::uint64_t which,
                              const std::vector<std::int64_t>& shape,
                              at::ScalarType type) {
  at::Tensor out = at::empty(shape, at::kFloat);
  CounterStream(11, Purpose::kSampleWorld, which)
      .normals(out.mutable_data_ptr<float>(), out.numel());
  return out.to(at::kCUDA, type);
}

inline at::Tensor wide(const at::Tensor& x) {
  return x.to(at::kDouble);
}

// Largest difference, relative to the largest expected value.
inline double relative_error(const at::Tensor& found, const at::Tensor& expected) {
  return ((wide(found) - wide(expected)).abs().max() / wide(expected).abs().max()).item<double>();
}

// Share of elements with other bits than `expected`, which has the same type.
inline double mismatch(const at::Tensor& found, const at::Tensor& expected) {
  return wide(found.ne(expected)).mean().item<double>();
}

// What `run` makes of a copy of x that appears on another stream, late. A kernel on any other
// stream reads zeros.
inline at::Tensor on_other_stream(const at::Tensor& x,
                                  const std::function<at::Tensor(const at::Tensor&)>& run) {
  const at::Tensor late = at::full(x.sizes(), 0.0, x.options());
  const at::Tensor slow = at::full({4096, 4096}, 1.0, x.options().dtype(at::kFloat));
  synchronize_device(x.device());
  const c10::cuda::CUDAStream stream = c10::cuda::getStreamFromPool();
  const c10::cuda::CUDAStreamGuard guard(stream);
  for (int i = 0; i < 4; ++i) slow.mm(slow);
  at::Tensor filled = late;
  filled.copy_(x);
  at::Tensor out = run(late);
  stream.synchronize();
  return out;
}

}  // namespace wam::test
