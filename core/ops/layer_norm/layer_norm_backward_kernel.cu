#include "core/cuda/vector.cuh"
#include "core/ops/layer_norm/block_sums.cuh"
#include "core/ops/layer_norm/layer_norm_kernel.h"
#include "core/ops/layer_norm/norm_row.cuh"
#include "core/ops/token_rows/run.cuh"

namespace wam {
namespace {

// What one thread of the backward holds of a token.
template <class T>
struct BackwardToken {
  Packed8<T> dy, x, residual;
  float mean = 0.0F;
  float rstd = 0.0F;
};

template <class T>
__device__ __forceinline__ BackwardToken<T> load_token(const NormBackward& a,
                                                       std::int64_t tokens_before,
                                                       std::int64_t batch,
                                                       std::int64_t l,
                                                       int column) {
  BackwardToken<T> token;
  token.dy = load_packed8(row_of<T>(a.dy, batch, l) + column);
  token.x = load_packed8(row_of<T>(a.x, batch, l) + column);
  if (a.residual.data != nullptr) {
    token.residual = load_packed8(row_of<T>(a.residual, batch, l) + column);
  }
  token.mean = __ldg(a.mean_BL + tokens_before + l);
  token.rstd = __ldg(a.rstd_BL + tokens_before + l);
  return token;
}

// The sums over a row's tokens so far, of one thread's columns.
struct ColumnSums {
  float dy[8] = {};
  float dy_normal[8] = {};
};

// Adds a token to `columns`; its sums over columns of g and g * normal, g = dy * factor.
template <class T>
__device__ __forceinline__ void add_token(const BackwardToken<T>& token,
                                          const float (&factor)[8],
                                          ColumnSums& columns,
                                          float& sum_g,
                                          float& sum_g_normal) {
  float dy[8], normal[8];
  unpack8(dy, token.dy);
  unpack8(normal, token.x);
  sum_g = 0.0F;
  sum_g_normal = 0.0F;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    normal[i] = (normal[i] - token.mean) * token.rstd;
    columns.dy[i] += dy[i];
    columns.dy_normal[i] += dy[i] * normal[i];
    const float g = dy[i] * factor[i];
    sum_g += g;
    sum_g_normal += g * normal[i];
  }
}

template <class T>
__device__ __forceinline__ void store_dx(
    T* to, BackwardToken<T>& token, const float (&factor)[8], float mean_g, float mean_g_normal) {
  float dy[8], normal[8], dx[8];
  stay_packed(token.dy);
  stay_packed(token.x);
  unpack8(dy, token.dy);
  unpack8(normal, token.x);
  unpack8(dx, token.residual);
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    normal[i] = (normal[i] - token.mean) * token.rstd;
    dx[i] += (dy[i] * factor[i] - mean_g - normal[i] * mean_g_normal) * token.rstd;
  }
  store8(to, dx);
}

__device__ __forceinline__ void store_slot(
    const NormBackward& a, std::int64_t slot, int width, int column, const ColumnSums& columns) {
  if (a.partial_BSVD == nullptr || column >= width) return;
  float* partial = a.partial_BSVD + slot * 2 * width + column;
  store8(partial, columns.dy);
  store8(partial + width, columns.dy_normal);
}

// Longer than other functions: the sums stay in registers over the whole loop.
template <class T, int kMostThreads, int kLeastBlocks>
__global__ void __launch_bounds__(kMostThreads, kLeastBlocks)
    normalise_runs_backward(const NormBackward a, const RunWork work, const RunSplit split) {
  constexpr int kTokens = sizeof(T) == 2 ? 2 : 1;  // in flight
  __shared__ typename BlockSums<2 * kTokens>::Shared shared;
  BlockSums<2 * kTokens> block_sums(shared);
  const int column = static_cast<int>(threadIdx.x) * 8;
  const int width = static_cast<int>(work.width);
  const bool inside = column < width;
  const float inverse_width = 1.0F / static_cast<float>(width);
  const std::int64_t batch = blockIdx.y;
  const std::int64_t tokens_before = batch * work.tokens;
  const std::int64_t first_slot = batch * split.slots + blockIdx.x;
  const int runs_per_block = static_cast<int>(split.runs_per_block);
  const int begin = static_cast<int>(blockIdx.x) * runs_per_block;
  const int end = min(begin + runs_per_block, static_cast<int>(work.runs));
  ColumnSums columns;
  Packed8<T> scale;
  float factor[8];
  Run run = run_at(work, begin);
  int row = -1;
  for (int r = begin; r < end; ++r) {
    if (row != run.row) {
      if (row >= 0) store_slot(a, first_slot + row, width, column, columns);
      columns = {};
      row = run.row;
      if (inside) scale = load_packed8(row_of<T>(a.scale, batch, row) + column);
    }
    const Run next = r + 1 < end ? run_at(work, r + 1) : run;
    for (int first = 0; first < run.tokens; first += kTokens) {
      BackwardToken<T> token[kTokens];
      float sums[2 * kTokens];
#pragma unroll
      for (int t = 0; t < kTokens; ++t) {
        if (inside && first + t < run.tokens) {
          token[t] = load_token<T>(a, tokens_before, batch, run.first + first + t, column);
        }
      }
      if (first == 0) unpack_factor(factor, scale, a.scale_offset);  // once the loads are under way
#pragma unroll
      for (int t = 0; t < kTokens; ++t) {
        add_token(token[t], factor, columns, sums[2 * t], sums[2 * t + 1]);
      }
      block_sums(sums);
#pragma unroll
      for (int t = 0; t < kTokens; ++t) {
        if (inside && first + t < run.tokens) {
          const std::int64_t at = tokens_before + run.first + first + t;
          store_dx(static_cast<T*>(a.dx_BLD) + at * width + column, token[t], factor,
                   sums[2 * t] * inverse_width, sums[2 * t + 1] * inverse_width);
        }
      }
    }
    run = next;
  }
  store_slot(a, first_slot + row, width, column, columns);
}

template <class T>
void launch_backward(const NormBackward& norm,
                     const RunWork& work,
                     const RunSplit& split,
                     KernelStream stream) {
  if (split.blocks == 0) return;
  const unsigned threads = norm_threads(work);
  const dim3 grid = norm_grid(work, split);
  if (threads <= 384) {
    normalise_runs_backward<T, 384, 2><<<grid, threads, 0, stream>>>(norm, work, split);
  } else if (threads <= 640) {
    normalise_runs_backward<T, 640, 1><<<grid, threads, 0, stream>>>(norm, work, split);
  } else {
    normalise_runs_backward<T, 1024, 1><<<grid, threads, 0, stream>>>(norm, work, split);
  }
  check_launch("norm_backward");
}

}  // namespace

void norm_backward(const NormBackward& norm,
                   const RunWork& work,
                   const RunSplit& split,
                   KernelStream stream) {
  if (norm.element == Element::kBf16) {
    return launch_backward<__nv_bfloat16>(norm, work, split, stream);
  }
  launch_backward<float>(norm, work, split, stream);
}

}  // namespace wam
