#pragma once

#include <cstdint>

#include <cuda_bf16.h>

namespace wam {

// kVectorElements at once between memory and fp32 registers. Addresses are multiples of 16 bytes.
// Rounding to bf16 is to nearest even.

__device__ __forceinline__ void load8(float (&value)[8], const __nv_bfloat16* from) {
  const uint4 raw = *reinterpret_cast<const uint4*>(from);
  const std::uint32_t pair[4] = {raw.x, raw.y, raw.z, raw.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    value[2 * i] = __uint_as_float(pair[i] << 16);
    value[2 * i + 1] = __uint_as_float(pair[i] & 0xffff0000U);
  }
}

__device__ __forceinline__ void load8(float (&value)[8], const float* from) {
  const float4 low = reinterpret_cast<const float4*>(from)[0];
  const float4 high = reinterpret_cast<const float4*>(from)[1];
  value[0] = low.x, value[1] = low.y, value[2] = low.z, value[3] = low.w;
  value[4] = high.x, value[5] = high.y, value[6] = high.z, value[7] = high.w;
}

// Stores are to global memory. __stwb is the ordinary store, but always one of 16 bytes: the
// compiler splits an assignment into words where it loses track of the alignment.
__device__ __forceinline__ void store8(__nv_bfloat16* to, const float (&value)[8]) {
  unsigned pair[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const __nv_bfloat162 both = __floats2bfloat162_rn(value[2 * i], value[2 * i + 1]);
    pair[i] = *reinterpret_cast<const unsigned*>(&both);
  }
  __stwb(reinterpret_cast<uint4*>(to), make_uint4(pair[0], pair[1], pair[2], pair[3]));
}

__device__ __forceinline__ void store8(float* to, const float (&value)[8]) {
  auto* half = reinterpret_cast<float4*>(to);
  __stwb(half, make_float4(value[0], value[1], value[2], value[3]));
  __stwb(half + 1, make_float4(value[4], value[5], value[6], value[7]));
}

// `value` as an element of type T holds it.
template <class T>
__device__ __forceinline__ float rounded(float value);
template <>
__device__ __forceinline__ float rounded<float>(float value) {
  return value;
}
template <>
__device__ __forceinline__ float rounded<__nv_bfloat16>(float value) {
  return __bfloat162float(__float2bfloat16_rn(value));
}

}  // namespace wam
