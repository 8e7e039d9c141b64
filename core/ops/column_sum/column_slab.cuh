#pragma once

#include <cstdint>

#include "core/ops/column_sum/column_sum_kernel.h"

namespace wam {

// For kernels that walk a matrix by slabs (column_sum_kernel.h) with a grid of
// (ceil(columns / kSlabColumns), slabs) blocks of 32 * kSlabWarps threads: warp w takes rows
// begin + w, begin + w + kSlabWarps, ...; a lane takes kVectorElements columns.
struct SlabThread {
  std::int64_t column;  // first of this thread's; not below `columns` when it has none
  std::int64_t begin;   // first row of this warp
  std::int64_t end;     // rows of the slab end here
};

__device__ __forceinline__ SlabThread slab_thread(std::int64_t rows, std::int64_t slab_rows) {
  const std::int64_t begin = blockIdx.y * slab_rows;
  return {.column = blockIdx.x * kSlabColumns + threadIdx.x % 32 * kVectorElements,
          .begin = begin + threadIdx.x / 32,
          .end = begin + slab_rows < rows ? begin + slab_rows : rows};
}

// Adds the sums of a block's warps, in the order of the warps, and stores them as row blockIdx.y of
// partial (slabs, columns). All threads of the block call it, once.
__device__ __forceinline__ void store_slab_sums(float* partial,
                                                const float (&sum)[kVectorElements],
                                                std::int64_t columns) {
  __shared__ float warp_sum[kSlabWarps][kSlabColumns];
#pragma unroll
  for (int i = 0; i < kVectorElements; ++i) {
    warp_sum[threadIdx.x / 32][threadIdx.x % 32 * kVectorElements + i] = sum[i];
  }
  __syncthreads();
  const std::int64_t column = blockIdx.x * kSlabColumns + threadIdx.x;
  if (column >= columns) return;
  float total = 0.0F;
#pragma unroll
  for (int w = 0; w < kSlabWarps; ++w) total += warp_sum[w][threadIdx.x];
  partial[blockIdx.y * columns + column] = total;
}

static_assert(32 * kSlabWarps == kSlabColumns, "a thread stores one column");

}  // namespace wam
