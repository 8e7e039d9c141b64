#include "core/cuda/vector.cuh"
#include "core/ops/column_sum/column_slab.cuh"
#include "core/ops/column_sum/column_sum_kernel.h"

namespace wam {
namespace {

constexpr unsigned kSlabThreads = 32 * kSlabWarps;

// kRows rows are in flight at once.
template <class T, int kRows>
__global__ void __launch_bounds__(kSlabThreads, kColumnSumBlocksPerSm)
    slab_per_block_sum(float* partial,
                       const T* dy,
                       std::int64_t row_stride,
                       std::int64_t rows,
                       std::int64_t columns,
                       std::int64_t slab_rows) {
  const SlabThread at = slab_thread(rows, slab_rows);
  float sum[8] = {};
  if (at.column < columns) {
    for (std::int64_t row = at.begin; row < at.end; row += kRows * kSlabWarps) {
      float value[kRows][8] = {};
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        const std::int64_t from = row + r * kSlabWarps;
        if (from < at.end) load8(value[r], dy + from * row_stride + at.column);
      }
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
#pragma unroll
        for (int i = 0; i < 8; ++i) sum[i] += value[r][i];
      }
    }
  }
  store_slab_sums(partial, sum, columns);
}

// Threads (32 columns, groups): a group takes every groups-th partial, then the groups are added.
__global__ void __launch_bounds__(1024) add_partials(const ColumnGradient gradient,
                                                     const float* partial,
                                                     std::int64_t partials,
                                                     std::int64_t columns) {
  __shared__ float group_sum[32][32];
  const std::int64_t column = std::int64_t{blockIdx.x} * 32 + threadIdx.x;
  float sum = 0.0F;
  if (column < columns) {
#pragma unroll 4
    for (std::int64_t p = threadIdx.y; p < partials; p += blockDim.y) {
      sum += partial[p * columns + column];
    }
  }
  group_sum[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || column >= columns) return;
  float total = 0.0F;
  for (unsigned g = 0; g < blockDim.y; ++g) total += group_sum[g][threadIdx.x];
  gradient.data[column / gradient.part_columns * gradient.part_stride +
                column % gradient.part_columns] += total;
}

}  // namespace

void launch_column_partials(float* partial,
                            const void* dy,
                            std::int64_t row_stride,
                            std::int64_t rows,
                            std::int64_t columns,
                            const ColumnSlabs& slabs,
                            Element element,
                            KernelStream stream) {
  const dim3 grid(static_cast<unsigned>((columns + kSlabColumns - 1) / kSlabColumns),
                  static_cast<unsigned>(slabs.count));
  if (element == Element::kBf16) {
    slab_per_block_sum<__nv_bfloat16, 4><<<grid, kSlabThreads, 0, stream>>>(
        partial, static_cast<const __nv_bfloat16*>(dy), row_stride, rows, columns, slabs.rows);
  } else {
    slab_per_block_sum<float, 1><<<grid, kSlabThreads, 0, stream>>>(
        partial, static_cast<const float*>(dy), row_stride, rows, columns, slabs.rows);
  }
  check_launch("column sums");
}

void launch_add_partials(const ColumnGradient& gradient,
                         const float* partial,
                         std::int64_t partials,
                         std::int64_t columns,
                         KernelStream stream) {
  const dim3 threads(32, static_cast<unsigned>(std::min<std::int64_t>(32, partials)));
  const auto blocks = static_cast<unsigned>((columns + 31) / 32);
  add_partials<<<blocks, threads, 0, stream>>>(gradient, partial, partials, columns);
  check_launch("add partial sums");
}

}  // namespace wam
