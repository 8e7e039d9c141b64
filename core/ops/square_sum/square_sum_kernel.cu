#include "core/ops/square_sum/square_sum_kernel.h"

namespace wam {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
// 16-byte loads of a thread that are under way at once.
constexpr int kLoads = 4;

// The sum over the block, for thread 0. Once a kernel: the shared numbers are not reused.
__device__ double sum_for_first_thread(double value) {
  __shared__ double warp_sum[kWarps];
#pragma unroll
  for (int lane = 16; lane > 0; lane >>= 1) value += __shfl_xor_sync(0xffffffffU, value, lane);
  if (threadIdx.x % 32 == 0) warp_sum[threadIdx.x / 32] = value;
  __syncthreads();
  if (threadIdx.x != 0) return 0;
  double sum = warp_sum[0];
#pragma unroll
  for (int warp = 1; warp < kWarps; ++warp) sum += warp_sum[warp];
  return sum;
}

__device__ void add_square(double& sum, float x) {
  const double wide = x;
  sum = fma(wide, wide, sum);  // the product is exact
}

__global__ void __launch_bounds__(kThreads)
    square_sum_piece_per_block(double* __restrict__ partial,
                               const float* __restrict__ flat,
                               const longlong2* __restrict__ pieces) {
  const longlong2 piece = pieces[blockIdx.x];
  const auto* from = reinterpret_cast<const float4*>(flat + piece.x);
  const int vectors = static_cast<int>(piece.y / 4);
  double sum[4] = {};
  for (int first = static_cast<int>(threadIdx.x); first < vectors; first += kThreads * kLoads) {
    float4 x[kLoads];
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int at = first + i * kThreads;
      x[i] = at < vectors ? __ldcs(from + at) : make_float4(0.0F, 0.0F, 0.0F, 0.0F);
    }
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      add_square(sum[0], x[i].x);
      add_square(sum[1], x[i].y);
      add_square(sum[2], x[i].z);
      add_square(sum[3], x[i].w);
    }
  }
  const double total = sum_for_first_thread((sum[0] + sum[1]) + (sum[2] + sum[3]));
  if (threadIdx.x == 0) partial[blockIdx.x] = total;
}

__global__ void __launch_bounds__(kThreads)
    add_pieces_segment_per_block(double* __restrict__ sum,
                                 const double* __restrict__ partial,
                                 const std::int64_t* __restrict__ first_piece) {
  const std::int64_t end = first_piece[blockIdx.x + 1];
  double mine = 0;
  for (std::int64_t p = first_piece[blockIdx.x] + threadIdx.x; p < end; p += kThreads) {
    mine += partial[p];
  }
  const double total = sum_for_first_thread(mine);
  if (threadIdx.x == 0) sum[blockIdx.x] = total;
}

}  // namespace

void square_sums_cuda(double* sum,
                      double* partial,
                      const float* flat,
                      const std::int64_t* piece,
                      const std::int64_t* first_piece,
                      std::int64_t num_pieces,
                      std::int64_t num_segments,
                      KernelStream stream) {
  if (num_pieces > 0) {
    square_sum_piece_per_block<<<static_cast<unsigned>(num_pieces), kThreads, 0, stream>>>(
        partial, flat, reinterpret_cast<const longlong2*>(piece));
    check_launch("square_sum_piece_per_block");
  }
  if (num_segments == 0) return;
  add_pieces_segment_per_block<<<static_cast<unsigned>(num_segments), kThreads, 0, stream>>>(
      sum, partial, first_piece);
  check_launch("add_pieces_segment_per_block");
}

}  // namespace wam
