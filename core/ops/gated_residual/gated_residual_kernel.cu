#include "core/cuda/vector.cuh"
#include "core/ops/gated_residual/gated_residual_kernel.h"
#include "core/ops/token_rows/run.cuh"

namespace wam {
namespace {

constexpr int kThreads = 128;
constexpr int kTokens = static_cast<int>(kRunTokens);

// The tokens of a run, 8 columns a thread.
template <class T>
__device__ __forceinline__ void load_run(Packed8<T> (&value)[kTokens],
                                         const RowsIn& from,
                                         std::int64_t batch,
                                         const Run& run,
                                         int column) {
#pragma unroll
  for (int t = 0; t < kTokens; ++t) {
    if (t < run.tokens) value[t] = load_packed8(row_of<T>(from, batch, run.first + t) + column);
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    add_gated(const GatedForward a, const RunWork work, const int runs_per_block) {
  const int column = static_cast<int>(blockIdx.y * kThreads + threadIdx.x) * 8;
  if (column >= work.width) return;
  const std::int64_t batch = blockIdx.z;
  const int begin = static_cast<int>(blockIdx.x) * runs_per_block;
  const int end = min(begin + runs_per_block, static_cast<int>(work.runs));
  T* out = static_cast<T*>(a.out_BLD) + batch * work.tokens * work.width + column;
  for (int r = begin; r < end; ++r) {
    const Run run = run_at(work, r);
    Packed8<T> x[kTokens], y[kTokens];
    load_run(x, a.x, batch, run, column);
    load_run(y, a.y, batch, run, column);
    float gate[8];
    unpack8(gate, load_packed8(row_of<T>(a.gate, batch, run.row) + column));
#pragma unroll
    for (int t = 0; t < kTokens; ++t) {
      if (t >= run.tokens) break;
      float sum[8], product[8];
      unpack8(sum, x[t]);
      unpack8(product, y[t]);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        // Two roundings, in fp32 too: no fused multiply-add.
        sum[i] = __fadd_rn(sum[i], rounded<T>(__fmul_rn(product[i], gate[i])));
      }
      store8(out + (run.first + t) * work.width, sum);
    }
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    add_gated_backward(const GatedBackward a, const RunWork work, const RunSplit split) {
  const int column = static_cast<int>(blockIdx.y * kThreads + threadIdx.x) * 8;
  if (column >= work.width) return;
  const std::int64_t batch = blockIdx.z;
  const int runs_per_block = static_cast<int>(split.runs_per_block);
  const int begin = static_cast<int>(blockIdx.x) * runs_per_block;
  const int end = min(begin + runs_per_block, static_cast<int>(work.runs));
  T* dy_out = static_cast<T*>(a.dy_BLD) + batch * work.tokens * work.width + column;
  float* partial = a.partial_BSD + (batch * split.slots + blockIdx.x) * work.width + column;
  float gate[8] = {};
  float dgate[8] = {};
  int row = -1;
  for (int r = begin; r < end; ++r) {
    const Run run = run_at(work, r);
    Packed8<T> dout[kTokens], y[kTokens];
    load_run(dout, a.dout, batch, run, column);
    load_run(y, a.y, batch, run, column);
    if (row != run.row) {
      if (row >= 0) store8(partial + row * work.width, dgate);
      row = run.row;
      unpack8(gate, load_packed8(row_of<T>(a.gate, batch, row) + column));
#pragma unroll
      for (int i = 0; i < 8; ++i) dgate[i] = 0.0F;
    }
#pragma unroll
    for (int t = 0; t < kTokens; ++t) {
      if (t >= run.tokens) break;
      float d[8], other[8];
      unpack8(d, dout[t]);
      unpack8(other, y[t]);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        dgate[i] += d[i] * other[i];
        d[i] *= gate[i];
      }
      store8(dy_out + (run.first + t) * work.width, d);
    }
  }
  store8(partial + row * work.width, dgate);
}

dim3 grid_of(const RunWork& work, const RunSplit& split) {
  const std::int64_t columns = kThreads * kVectorElements;
  return {static_cast<unsigned>(split.blocks),
          static_cast<unsigned>((work.width + columns - 1) / columns),
          static_cast<unsigned>(work.batch)};
}

}  // namespace

void gated_residual_forward(const GatedForward& gated, const RunWork& work, KernelStream stream) {
  const RunSplit split = split_runs(work, kStreamingBlocks);
  if (split.blocks == 0) return;
  const auto per_block = static_cast<int>(split.runs_per_block);
  const dim3 grid = grid_of(work, split);
  if (gated.element == Element::kBf16) {
    add_gated<__nv_bfloat16><<<grid, kThreads, 0, stream>>>(gated, work, per_block);
  } else {
    add_gated<float><<<grid, kThreads, 0, stream>>>(gated, work, per_block);
  }
  check_launch("gated_residual_forward");
}

void gated_residual_backward(const GatedBackward& gated,
                             const RunWork& work,
                             const RunSplit& split,
                             KernelStream stream) {
  if (split.blocks == 0) return;
  const dim3 grid = grid_of(work, split);
  if (gated.element == Element::kBf16) {
    add_gated_backward<__nv_bfloat16><<<grid, kThreads, 0, stream>>>(gated, work, split);
  } else {
    add_gated_backward<float><<<grid, kThreads, 0, stream>>>(gated, work, split);
  }
  check_launch("gated_residual_backward");
}

}  // namespace wam
