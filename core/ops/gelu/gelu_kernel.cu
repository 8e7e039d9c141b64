#include "core/cuda/vector.cuh"
#include "core/ops/column_sum/column_slab.cuh"
#include "core/ops/gelu/gelu_kernel.h"

namespace wam {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kSlabThreads = 32 * kSlabWarps;

constexpr float kBeta = 0.7978845608028654F;  // sqrt(2 / pi)
constexpr float kCubic = 0.044715F;
constexpr float kLog2e = 1.4426950408889634F;

// (1 + tanh u) / 2 = 1 / (1 + exp(-2 u)), u = sqrt(2/pi) (x + 0.044715 x^3).
//
// Two instructions of the special function unit where tanhf takes a branch and tens of others.
// Relative error: that of both instructions, below 2^-21, and where exp(-2 u) is not small beside
// one the rounding of its exponent, up to four units of 2^-24 times 2 |u|: below 2e-5 for x above
// -9, where the result passes 1e-28. There 1 + tanhf(u) has long lost all digits.
__device__ __forceinline__ float gate(float x) {
  const float exponent = x * (x * x * (-2.0F * kLog2e * kBeta * kCubic) - 2.0F * kLog2e * kBeta);
  float power;
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(exponent));
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(1.0F + power));
  return result;
}

// d/dx x s(x) = s + x s', s' = s (1 - s) 2 u'.
__device__ __forceinline__ float slope(float x) {
  const float s = gate(x);
  const float twice_du = 2.0F * kBeta + x * x * (6.0F * kBeta * kCubic);
  return s + x * twice_du * (s * (1.0F - s));
}

// Stores the elements and leaves in `value` what they hold.
__device__ __forceinline__ void store8_rounded(float* to, float (&value)[8]) {
  store8(to, value);
}
__device__ __forceinline__ void store8_rounded(__nv_bfloat16* to, float (&value)[8]) {
  unsigned pair[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const __nv_bfloat162 both = __floats2bfloat162_rn(value[2 * i], value[2 * i + 1]);
    pair[i] = *reinterpret_cast<const unsigned*>(&both);
    value[2 * i] = __uint_as_float(pair[i] << 16);
    value[2 * i + 1] = __uint_as_float(pair[i] & 0xffff0000U);
  }
  __stwb(reinterpret_cast<uint4*>(to), make_uint4(pair[0], pair[1], pair[2], pair[3]));
}

template <class T, int kVectors>
__global__ void __launch_bounds__(kThreads)
    vectors_per_thread_forward(T* y, const T* x, std::int64_t vectors) {
  const std::int64_t first = std::int64_t{blockIdx.x} * (kVectors * kThreads) + threadIdx.x;
  float value[kVectors][8];
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    const std::int64_t vector = first + v * kThreads;
    if (vector < vectors) load8(value[v], x + vector * 8);
  }
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    const std::int64_t vector = first + v * kThreads;
    if (vector >= vectors) return;
#pragma unroll
    for (int i = 0; i < 8; ++i) value[v][i] *= gate(value[v][i]);
    store8(y + vector * 8, value[v]);
  }
}

// kRows rows are in flight at once.
template <class T, int kRows>
__global__ void __launch_bounds__(kSlabThreads, kGeluBackwardBlocksPerSm)
    slab_per_block_backward(T* dx,
                            float* partial,
                            const T* dy,
                            const T* x,
                            std::int64_t rows,
                            std::int64_t columns,
                            std::int64_t slab_rows) {
  const SlabThread at = slab_thread(rows, slab_rows);
  float sum[8] = {};
  if (at.column < columns) {
    for (std::int64_t row = at.begin; row < at.end; row += kRows * kSlabWarps) {
      float value[kRows][8];
      float d[kRows][8];
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        const std::int64_t from = row + r * kSlabWarps;
        if (from >= at.end) continue;
        load8(value[r], x + from * columns + at.column);
        load8(d[r], dy + from * columns + at.column);
      }
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        const std::int64_t to = row + r * kSlabWarps;
        if (to >= at.end) continue;
#pragma unroll
        for (int i = 0; i < 8; ++i) d[r][i] *= slope(value[r][i]);
        store8_rounded(dx + to * columns + at.column, d[r]);
#pragma unroll
        for (int i = 0; i < 8; ++i) sum[i] += d[r][i];
      }
    }
  }
  if (partial != nullptr) store_slab_sums(partial, sum, columns);
}

template <class T, int kVectors>
void forward(void* y, const void* x, std::int64_t numel, KernelStream stream) {
  const std::int64_t vectors = numel / kVectorElements;
  const auto blocks =
      static_cast<unsigned>((vectors + kVectors * kThreads - 1) / (kVectors * kThreads));
  vectors_per_thread_forward<T, kVectors>
      <<<blocks, kThreads, 0, stream>>>(static_cast<T*>(y), static_cast<const T*>(x), vectors);
  check_launch("tanh-GELU forward");
}

template <class T, int kRows>
void backward(const TanhGeluBackward& a, KernelStream stream) {
  const dim3 grid(static_cast<unsigned>((a.columns + kSlabColumns - 1) / kSlabColumns),
                  static_cast<unsigned>(a.slabs.count));
  slab_per_block_backward<T, kRows><<<grid, kSlabThreads, 0, stream>>>(
      static_cast<T*>(a.dx), a.partial, static_cast<const T*>(a.dy), static_cast<const T*>(a.x),
      a.rows, a.columns, a.slabs.rows);
  check_launch("tanh-GELU backward");
}

}  // namespace

void launch_tanh_gelu_forward(
    void* y, const void* x, std::int64_t numel, Element element, KernelStream stream) {
  if (element == Element::kBf16) return forward<__nv_bfloat16, 4>(y, x, numel, stream);
  forward<float, 2>(y, x, numel, stream);
}

void launch_tanh_gelu_backward(const TanhGeluBackward& args, Element element, KernelStream stream) {
  if (element == Element::kBf16) return backward<__nv_bfloat16, 2>(args, stream);
  backward<float, 1>(args, stream);
}

}  // namespace wam
