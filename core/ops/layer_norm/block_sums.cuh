#pragma once

namespace wam {

// Sums over all threads of a block of kValues numbers at once, kValues a power of two of at most
// 32; every thread gets all of them. The order is fixed. The number of threads is a multiple of 32,
// and all of them take every call.
//
// Lanes share the values out while they halve the sums, so that four values take 13 shuffles, not
// 40; two buffers in turn need one barrier a call.
template <int kValues>
class BlockSums {
 public:
  using Shared = float[2][32 * kValues];

  __device__ explicit BlockSums(Shared& shared) : shared_(shared) {}

  __device__ __forceinline__ void operator()(float (&value)[kValues]) {
    const unsigned lane = threadIdx.x % 32;
    float* warp_sum = shared_[turn_];
    turn_ ^= 1;
    const float own = sum_of_warp(value, lane);
    if (lane % kLanes == 0) warp_sum[threadIdx.x / 32 * kValues + lane / kLanes] = own;
    // A thread that writes this buffer again has passed the barrier of the call between, which all
    // threads reach after reading it here.
    __syncthreads();
    float sum = 0.0F;
    for (unsigned warp = lane % kLanes; warp < blockDim.x / 32; warp += kLanes) {
      sum += warp_sum[warp * kValues + lane / kLanes];
    }
#pragma unroll
    for (int offset = kLanes / 2; offset > 0; offset /= 2) {
      sum += __shfl_xor_sync(kAllLanes, sum, offset);
    }
#pragma unroll
    for (int v = 0; v < kValues; ++v) value[v] = __shfl_sync(kAllLanes, sum, v * kLanes);
  }

 private:
  static constexpr unsigned kAllLanes = 0xffffffffU;
  static constexpr int kLanes = 32 / kValues;  // that end with the same value

  // Of value lane / kLanes; the others' halves go to the lanes that keep them.
  static __device__ __forceinline__ float sum_of_warp(float (&value)[kValues], unsigned lane) {
    int offset = 16;
#pragma unroll
    for (int kept = kValues / 2; kept > 0; kept /= 2) {
      const bool upper = (lane & static_cast<unsigned>(offset)) != 0;
#pragma unroll
      for (int v = 0; v < kept; ++v) {
        const float sent = upper ? value[v] : value[v + kept];
        const float own = upper ? value[v + kept] : value[v];
        value[v] = own + __shfl_xor_sync(kAllLanes, sent, offset);
      }
      offset /= 2;
    }
#pragma unroll
    for (int rest = kLanes / 2; rest > 0; rest /= 2) {
      value[0] += __shfl_xor_sync(kAllLanes, value[0], rest);
    }
    return value[0];
  }

  Shared& shared_;
  int turn_ = 0;
};

}  // namespace wam
