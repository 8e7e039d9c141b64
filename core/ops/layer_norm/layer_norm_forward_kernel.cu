#include "core/cuda/vector.cuh"
#include "core/ops/layer_norm/block_sums.cuh"
#include "core/ops/layer_norm/layer_norm_kernel.h"
#include "core/ops/layer_norm/norm_row.cuh"
#include "core/ops/token_rows/run.cuh"

namespace wam {
namespace {

// Mean and 1 / sqrt(variance + eps) of kTokens tokens; threads outside the width hold zeros.
template <class T, int kTokens>
__device__ __forceinline__ void statistics_of(Packed8<T> (&x)[kTokens],
                                              bool inside,
                                              float inverse_width,
                                              float eps,
                                              BlockSums<kTokens>& block_sums,
                                              float (&mean)[kTokens],
                                              float (&rstd)[kTokens]) {
#pragma unroll
  for (int t = 0; t < kTokens; ++t) {
    float value[8];
    unpack8(value, x[t]);
    mean[t] = 0.0F;
#pragma unroll
    for (int i = 0; i < 8; ++i) mean[t] += value[i];
  }
  block_sums(mean);
#pragma unroll
  for (int t = 0; t < kTokens; ++t) {
    mean[t] *= inverse_width;
    float value[8];
    stay_packed(x[t]);
    unpack8(value, x[t]);
    rstd[t] = 0.0F;
#pragma unroll
    for (int i = 0; i < 8; ++i) rstd[t] += (value[i] - mean[t]) * (value[i] - mean[t]);
    if (!inside) rstd[t] = 0.0F;
  }
  block_sums(rstd);
#pragma unroll
  for (int t = 0; t < kTokens; ++t) rstd[t] = rsqrtf(rstd[t] * inverse_width + eps);
}

template <class T, int kMostThreads, int kLeastBlocks>
__global__ void __launch_bounds__(kMostThreads, kLeastBlocks)
    normalise_runs(const NormForward a, const RunWork work, const int runs_per_block) {
  constexpr int kTokens = static_cast<int>(kRunTokens);
  __shared__ typename BlockSums<kTokens>::Shared shared;
  BlockSums<kTokens> block_sums(shared);
  const int column = static_cast<int>(threadIdx.x) * 8;
  const int width = static_cast<int>(work.width);
  const bool inside = column < width;
  const float inverse_width = 1.0F / static_cast<float>(width);
  const std::int64_t batch = blockIdx.y;
  const std::int64_t tokens_before = batch * work.tokens;
  const int begin = static_cast<int>(blockIdx.x) * runs_per_block;
  const int end = min(begin + runs_per_block, static_cast<int>(work.runs));
  Packed8<T> scale, shift;
  int row = -1;
  Run run = run_at(work, begin);
  for (int r = begin; r < end; ++r) {
    Packed8<T> x[kTokens];
#pragma unroll
    for (int t = 0; t < kTokens; ++t) {
      if (inside && t < run.tokens) {
        x[t] = load_packed8(row_of<T>(a.x, batch, run.first + t) + column);
      }
    }
    if (row != run.row && inside) {
      scale = load_packed8(row_of<T>(a.scale, batch, run.row) + column);
      shift = load_packed8(row_of<T>(a.shift, batch, run.row) + column);
    }
    row = run.row;
    const Run next = r + 1 < end ? run_at(work, r + 1) : run;

    float mean[kTokens], rstd[kTokens];
    statistics_of(x, inside, inverse_width, a.eps, block_sums, mean, rstd);

    float factor[8], addend[8];
    unpack_factor(factor, scale, a.scale_offset);
    unpack8(addend, shift);
#pragma unroll
    for (int t = 0; t < kTokens; ++t) {
      if (t >= run.tokens) break;
      const std::int64_t token = tokens_before + run.first + t;
      if (inside) {
        float y[8];
        stay_packed(x[t]);
        unpack8(y, x[t]);
#pragma unroll
        for (int i = 0; i < 8; ++i) y[i] = (y[i] - mean[t]) * rstd[t] * factor[i] + addend[i];
        store8(static_cast<T*>(a.y_BLD) + token * width + column, y);
      }
      if (threadIdx.x == 0) {
        a.mean_BL[token] = mean[t];
        a.rstd_BL[token] = rstd[t];
      }
    }
    run = next;
  }
}

// Registers let as many blocks share a multiprocessor as its memory needs to stay busy: for the
// widths of the models, and for any other.
template <class T>
void launch_forward(const NormForward& norm, const RunWork& work, KernelStream stream) {
  const RunSplit split = split_runs(work, kStreamingBlocks);
  if (split.blocks == 0) return;
  constexpr bool kBf16 = sizeof(T) == 2;
  const auto per_block = static_cast<int>(split.runs_per_block);
  const unsigned threads = norm_threads(work);
  const dim3 grid = norm_grid(work, split);
  if (threads <= 384) {
    normalise_runs<T, 384, kBf16 ? 3 : 2><<<grid, threads, 0, stream>>>(norm, work, per_block);
  } else if (threads <= 640) {
    normalise_runs<T, 640, kBf16 ? 2 : 1><<<grid, threads, 0, stream>>>(norm, work, per_block);
  } else {
    normalise_runs<T, 1024, 1><<<grid, threads, 0, stream>>>(norm, work, per_block);
  }
  check_launch("norm_forward");
}

}  // namespace

void norm_forward(const NormForward& norm, const RunWork& work, KernelStream stream) {
  if (norm.element == Element::kBf16) return launch_forward<__nv_bfloat16>(norm, work, stream);
  launch_forward<float>(norm, work, stream);
}

}  // namespace wam
