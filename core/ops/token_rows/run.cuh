#pragma once

#include <cstdint>

#include <cuda_bf16.h>

#include "core/ops/token_rows/run_kernel.h"

namespace wam {

struct Run {
  int first;
  int tokens;
  int row;
};

__device__ __forceinline__ Run run_at(const RunWork& work, int idx) {
  if (work.run_C3 == nullptr) {
    constexpr int kTokens = static_cast<int>(kRunTokens);
    const int first = idx * kTokens;
    return {first, min(kTokens, static_cast<int>(work.tokens) - first), 0};
  }
  const std::int32_t* run = work.run_C3 + std::int64_t{3} * idx;
  return {__ldg(run), __ldg(run + 1), __ldg(run + 2)};
}

// Where row `row` of sample `batch` starts.
template <class T>
__device__ __forceinline__ const T* row_of(const RowsIn& x, std::int64_t batch, std::int64_t row) {
  return static_cast<const T*>(x.data) + batch * x.batch_stride + row * x.row_stride;
}

// kVectorElements as memory holds them: for values that wait in registers, of which bf16 takes half
// as many as fp32.
template <class T>
struct Packed8 {
  uint4 part[sizeof(T) / 2] = {};
};

// Only for memory that the kernel does not write.
template <class T>
__device__ __forceinline__ Packed8<T> load_packed8(const T* from) {
  Packed8<T> packed;
#pragma unroll
  for (int i = 0; i < static_cast<int>(sizeof(T) / 2); ++i) {
    packed.part[i] = __ldg(reinterpret_cast<const uint4*>(from) + i);
  }
  return packed;
}

// Makes the next unpacking a new one: else the compiler keeps the unpacked values in registers.
template <class T>
__device__ __forceinline__ void stay_packed(Packed8<T>& packed) {
#pragma unroll
  for (uint4& part : packed.part) {
    asm volatile("" : "+r"(part.x), "+r"(part.y), "+r"(part.z), "+r"(part.w));
  }
}

__device__ __forceinline__ void unpack8(float (&value)[8], const Packed8<__nv_bfloat16>& packed) {
  const uint4 raw = packed.part[0];
  const std::uint32_t pair[4] = {raw.x, raw.y, raw.z, raw.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    value[2 * i] = __uint_as_float(pair[i] << 16);
    value[2 * i + 1] = __uint_as_float(pair[i] & 0xffff0000U);
  }
}

__device__ __forceinline__ void unpack8(float (&value)[8], const Packed8<float>& packed) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    value[4 * i] = __uint_as_float(packed.part[i].x);
    value[4 * i + 1] = __uint_as_float(packed.part[i].y);
    value[4 * i + 2] = __uint_as_float(packed.part[i].z);
    value[4 * i + 3] = __uint_as_float(packed.part[i].w);
  }
}

}  // namespace wam
