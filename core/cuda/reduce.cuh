#pragma once

namespace wam {

// Sums over all threads of a block, in a fixed order; every thread gets the result. The number of
// threads is a multiple of 32 and at most 1024. All threads call it.
template <int kValues>
__device__ __forceinline__ void block_sum(float (&value)[kValues]) {
  __shared__ float warp_sums[kValues][32];
#pragma unroll
  for (int v = 0; v < kValues; ++v) {
#pragma unroll
    for (int lane = 16; lane > 0; lane >>= 1) {
      value[v] += __shfl_xor_sync(0xffffffffU, value[v], lane);
    }
  }
  const unsigned lane = threadIdx.x % 32;
  const unsigned warps = blockDim.x / 32;
  __syncthreads();  // the sums of the call before have been read
  if (lane == 0) {
#pragma unroll
    for (int v = 0; v < kValues; ++v) warp_sums[v][threadIdx.x / 32] = value[v];
  }
  __syncthreads();
#pragma unroll
  for (int v = 0; v < kValues; ++v) {
    value[v] = lane < warps ? warp_sums[v][lane] : 0.0F;
#pragma unroll
    for (int l = 16; l > 0; l >>= 1) value[v] += __shfl_xor_sync(0xffffffffU, value[v], l);
  }
}

}  // namespace wam
