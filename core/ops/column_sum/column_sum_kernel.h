#pragma once

#include <algorithm>
#include <cstdint>

#include "core/cuda/kernel.h"

namespace wam {

// Column sums in two stages: a block sums one slab of consecutive rows over kSlabColumns columns
// into a row of `partial` (slabs, columns); then the rows of `partial` are added up. How rows are
// dealt depends on the shape alone, so the same numbers give the same bits.
// Speed: H200, bf16, 8,000 x 3,072: 12 us (4.1 TB/s); 1,000 x 3,072: 5 us, the time of two
// launches.
inline constexpr std::int64_t kSlabWarps = 8;
inline constexpr std::int64_t kSlabColumns = 32 * kVectorElements;  // a warp reads them at once
inline constexpr std::int64_t kColumnSumBlocksPerSm = 6;

struct ColumnSlabs {
  std::int64_t count = 0;
  std::int64_t rows = 0;  // of a slab; a multiple of 32 (four for every warp); the last has fewer
};

// About as many blocks as 132 SMs hold at once.
inline ColumnSlabs column_slabs(std::int64_t rows,
                                std::int64_t columns,
                                std::int64_t blocks_per_sm) {
  const std::int64_t across = (columns + kSlabColumns - 1) / kSlabColumns;
  const std::int64_t wanted = std::max<std::int64_t>(1, 132 * blocks_per_sm / across);
  const std::int64_t slab_rows = ((rows + wanted - 1) / wanted + 31) / 32 * 32;
  return {.count = (rows + slab_rows - 1) / slab_rows, .rows = slab_rows};
}

// partial[s, c] = sum of dy[r, c] over the rows of slab s. Needs rows > 0; columns and row_stride
// are multiples of kVectorElements, dy starts at a multiple of 16 bytes.
void launch_column_partials(float* partial,
                            const void* dy,
                            std::int64_t row_stride,
                            std::int64_t rows,
                            std::int64_t columns,
                            const ColumnSlabs& slabs,
                            Element element,
                            KernelStream stream);

// Column c is element (c / part_columns) * part_stride + c % part_columns.
struct ColumnGradient {
  float* data = nullptr;
  std::int64_t part_columns = 0;
  std::int64_t part_stride = 0;
};

// gradient[c] += sum over p of partial[p, c]. Needs partials > 0 and columns > 0.
void launch_add_partials(const ColumnGradient& gradient,
                         const float* partial,
                         std::int64_t partials,
                         std::int64_t columns,
                         KernelStream stream);

}  // namespace wam
