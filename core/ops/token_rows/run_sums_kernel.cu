#include "core/ops/token_rows/run_kernel.h"

namespace wam {
namespace {

constexpr int kLanes = 32;       // a block's first dimension: four columns each
constexpr int kMostGroups = 32;  // its second: each sums every so many slots
constexpr int kMostThreads = kLanes * kMostGroups;

__device__ __forceinline__ void add(float4& sum, const float4& value) {
  sum.x += value.x, sum.y += value.y, sum.z += value.z, sum.w += value.w;
}

__global__ void __launch_bounds__(kMostThreads)
    columns_per_block(const RunSums sums, const RunWork work, const RunSplit split) {
  __shared__ float4 group_sum[kMostGroups][kLanes];
  std::int64_t slot = 0;
  std::int64_t end = work.batch * split.slots;
  if (work.row_run_R1 != nullptr) {
    const std::int64_t row = blockIdx.y;
    const std::int64_t first_run = work.row_run_R1[row];
    const std::int64_t end_run = work.row_run_R1[row + 1];
    if (first_run == end_run) return;
    const std::int64_t first_slot = blockIdx.z * split.slots + row;
    slot = first_slot + first_run / split.runs_per_block;
    end = first_slot + (end_run - 1) / split.runs_per_block + 1;
  }
  const std::int64_t columns = sums.num_vectors * work.width;
  const std::int64_t column = (std::int64_t{blockIdx.x} * kLanes + threadIdx.x) * 4;
  const bool inside = column < columns;
  float4 sum = make_float4(0.0F, 0.0F, 0.0F, 0.0F);
  if (inside) {
    const float* partial = sums.partial_BSVD + column;
#pragma unroll 8
    for (slot += threadIdx.y; slot < end; slot += blockDim.y) {
      add(sum, __ldg(reinterpret_cast<const float4*>(partial + slot * columns)));
    }
  }
  group_sum[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || !inside) return;
  for (unsigned group = 1; group < blockDim.y; ++group) {
    add(sum, group_sum[group][threadIdx.x]);
  }
  const bool second = column >= work.width;
  const Rows<float> table = second ? sums.sum[1] : sums.sum[0];
  if (table.data == nullptr) return;
  float* to = table.data + blockIdx.z * table.batch_stride + blockIdx.y * table.row_stride +
              (second ? column - work.width : column);
  to[0] += sum.x, to[1] += sum.y, to[2] += sum.z, to[3] += sum.w;
}

}  // namespace

void add_run_sums(const RunSums& sums,
                  const RunWork& work,
                  const RunSplit& split,
                  KernelStream stream) {
  if (split.blocks == 0) return;
  const bool listed = work.row_run_R1 != nullptr;
  const std::int64_t columns_a_block = 4 * kLanes;
  const std::int64_t columns = sums.num_vectors * work.width;
  const dim3 grid(static_cast<unsigned>((columns + columns_a_block - 1) / columns_a_block),
                  static_cast<unsigned>(listed ? work.rows : 1),
                  static_cast<unsigned>(listed ? work.batch : 1));
  // A row of a table has tens of slots at most, and there are many rows.
  const dim3 threads(kLanes, listed ? 8 : kMostGroups);
  columns_per_block<<<grid, threads, 0, stream>>>(sums, work, split);
  check_launch("add_run_sums");
}

}  // namespace wam
