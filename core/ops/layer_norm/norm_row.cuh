#pragma once

#include "core/cuda/vector.cuh"
#include "core/ops/token_rows/run.cuh"

namespace wam {

// The factor of a row from its scale.
template <class T>
__device__ __forceinline__ void unpack_factor(float (&factor)[8],
                                              const Packed8<T>& scale,
                                              float offset) {
  unpack8(factor, scale);
#pragma unroll
  for (int i = 0; i < 8; ++i) factor[i] = rounded<T>(factor[i] + offset);
}

inline unsigned norm_threads(const RunWork& work) {
  return static_cast<unsigned>((work.width / kVectorElements + 31) / 32 * 32);
}

inline dim3 norm_grid(const RunWork& work, const RunSplit& split) {
  return {static_cast<unsigned>(split.blocks), static_cast<unsigned>(work.batch)};
}

}  // namespace wam
