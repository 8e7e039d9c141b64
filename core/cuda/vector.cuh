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

__device__ __forceinline__ void store8(__nv_bfloat16* to, const float (&value)[8]) {
  __nv_bfloat162 pair[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) pair[i] = __floats2bfloat162_rn(value[2 * i], value[2 * i + 1]);
  *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(pair);
}

__device__ __forceinline__ void store8(float* to, const float (&value)[8]) {
  reinterpret_cast<float4*>(to)[0] = make_float4(value[0], value[1], value[2], value[3]);
  reinterpret_cast<float4*>(to)[1] = make_float4(value[4], value[5], value[6], value[7]);
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
