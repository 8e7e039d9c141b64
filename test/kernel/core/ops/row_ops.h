#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "core/cuda/device.h"
#include "core/ops/token_rows/token_rows.h"
#include "core/random/counter.h"

// What the tests of kernels over tokens with rows share.
namespace wam::test {

// Normal numbers that `type` holds, in double on the CPU: what a twin reads.
inline at::Tensor draws(std::uint64_t which,
                        const std::vector<std::int64_t>& shape,
                        at::ScalarType type) {
  at::Tensor values = at::empty(shape, at::kFloat);
  CounterStream(11, Purpose::kSampleWorld, which)
      .normals(values.mutable_data_ptr<float>(), values.numel());
  return values.to(type).to(at::kDouble);
}

// `x` (B, L, D) on the GPU as part of a longer sequence, so that samples are not adjacent.
inline at::Tensor narrowed_on_gpu(const at::Tensor& x, at::ScalarType type) {
  at::Tensor longer =
      at::empty({x.size(0), x.size(1) + 3, x.size(2)}, at::TensorOptions(at::kCUDA).dtype(type));
  at::Tensor out = longer.narrow(1, 2, x.size(1));
  out.copy_(x);
  return out;
}

inline at::Tensor on_gpu(const at::Tensor& x, at::ScalarType type) {
  return x.to(at::kCUDA, type);
}

// A sequence like the model's: rows of many and of few tokens, rows that several groups use, rows
// of one token, and row 4, which no token uses.
inline constexpr std::int64_t kModelRows = 11;
inline TokenRows model_rows() {
  return {.tokens = 61,
          .groups = {{.inner = 23},
                     {.begin = 23, .inner = 7, .row_begin = 1},
                     {.begin = 30,
                      .outer = 2,
                      .outer_stride = 13,
                      .inner = 10,
                      .row_begin = 2,
                      .row_outer_stride = 1},
                     {.begin = 40,
                      .outer = 2,
                      .outer_stride = 13,
                      .inner = 3,
                      .row_begin = 5,
                      .row_outer_stride = 3,
                      .row_inner_stride = 1},
                     {.begin = 56,
                      .outer = 2,
                      .outer_stride = 1,
                      .inner = 1,
                      .row_begin = 2,
                      .row_outer_stride = 1},
                     {.begin = 58, .inner = 3}}};
}

inline TokenRows one_row(std::int64_t tokens) {
  return {.tokens = tokens, .groups = {{.inner = tokens}}};
}

struct RowCase {
  std::int64_t batch;
  std::int64_t width;
  TokenRows rows;
  std::int64_t num_rows;
};

// The widths of the models, one that fills no warp, one of 33 threads, and the widest; one token;
// samples enough that a block takes several runs and meets several rows.
inline std::vector<RowCase> row_cases() {
  return {{3, 96, model_rows(), kModelRows},
          {2, 3072, model_rows(), kModelRows},
          {1, 5120, model_rows(), kModelRows},
          {40, 264, model_rows(), kModelRows},
          {2, 8192, one_row(5), 1},
          {1, 8, one_row(1), 1},
          {1, 3072, one_row(597), 1}};
}

// Largest |found - expected| beyond the rounding of `found`'s type, in units of the error that
// fp32 sums over `terms` numbers of the largest size of `expected` may have; it is to be below 1.
inline double excess(const at::Tensor& found, const at::Tensor& expected, std::int64_t terms) {
  constexpr double kFactor = 2.0;
  const double half_unit = found.scalar_type() == at::kBFloat16 ? 0x1p-8 : 0x1p-24;
  const at::Tensor f = found.to(at::kCPU, at::kDouble);
  const at::Tensor beyond = (f - expected).abs() - expected.abs() * half_unit;
  const double allowed = kFactor * 0x1p-23 * std::sqrt(std::max(16.0, static_cast<double>(terms))) *
                         expected.abs().max().item<double>();
  return beyond.max().item<double>() / allowed;
}

// `work` on a stream of its own, between everything before it and everything after.
inline void on_side_stream(const std::function<void()>& work) {
  synchronize_device(at::Device(at::kCUDA, 0));
  {
    const c10::cuda::CUDAStreamGuard guard(c10::cuda::getStreamFromPool());
    work();
  }
  synchronize_device(at::Device(at::kCUDA, 0));
}

}  // namespace wam::test
