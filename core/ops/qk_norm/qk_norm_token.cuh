#pragma once

#include <cstdint>

#include "core/cuda/vector.cuh"
#include "core/ops/qk_norm/qk_norm_kernel.h"

// What the forward and the backward kernel of the q/k norm share.
namespace wam::qk_norm_token {

// A block takes one token at a time and keeps what is the same for all of them, its part of the
// weight and of the weight's gradient, in registers. It fetches the next token before it reduces
// over this one. A thread has kChunks vectors, blockDim.x vectors apart.
template <int kChunks>
struct Limits;
template <>
struct Limits<1> {  // width up to 3,072
  static constexpr int kThreads = 384, kForwardBlocks = 4, kBackwardBlocks = 3;
};
template <>
struct Limits<2> {  // up to 5,120
  static constexpr int kThreads = 320, kForwardBlocks = 3, kBackwardBlocks = 2;
};
template <>
struct Limits<4> {  // up to kQkNormMaxWidth
  static constexpr int kThreads = 512, kForwardBlocks = 1, kBackwardBlocks = 1;
};
constexpr std::int64_t kSms = 132;  // how the grid is sized; other cards are right, too

constexpr int chunks_of(std::int64_t width) {
  const std::int64_t vectors = width / kVectorElements;
  return vectors <= Limits<1>::kThreads ? 1 : vectors <= 2 * Limits<2>::kThreads ? 2 : 4;
}

// kVectorElements as they lie in memory: half the registers of fp32 while they are on their way.
template <class T>
struct Vector8 {
  uint4 word[sizeof(T) / 2];
};

template <class T>
__device__ __forceinline__ Vector8<T> fetch(const T* from) {
  Vector8<T> out;
#pragma unroll
  for (int i = 0; i < static_cast<int>(sizeof(T) / 2); ++i) {
    out.word[i] = reinterpret_cast<const uint4*>(from)[i];
  }
  return out;
}

template <class T>
__device__ __forceinline__ void widen(float (&value)[8], const Vector8<T>& vector) {
  load8(value, reinterpret_cast<const T*>(vector.word));
}

// A kernel's argument: what is the same for all threads stays out of their registers.
struct DealtTokens : QkNormTokens {
  DealtTokens(const QkNormTokens& all, std::int64_t blocks)
      : QkNormTokens(all),
        rows(static_cast<unsigned>(samples * tokens)),
        sample_step(static_cast<unsigned>(blocks / tokens)),
        token_step(static_cast<unsigned>(blocks % tokens)) {}

  unsigned rows, sample_step, token_step;
};

// The vectors of one thread. Those past the width are read as zero and never written.
template <int kChunks>
struct Columns {
  __device__ __forceinline__ explicit Columns(const DealtTokens& a)
      : width(static_cast<int>(a.width)) {
#pragma unroll
    for (int c = 0; c < kChunks; ++c) in_head[c] = first(c) % static_cast<int>(a.head_width);
  }
  __device__ __forceinline__ int first(int chunk) const {
    return 8 * (static_cast<int>(threadIdx.x) + chunk * static_cast<int>(blockDim.x));
  }
  __device__ __forceinline__ bool inside(int chunk) const {
    return first(chunk) < width;
  }

  template <class T>
  __device__ __forceinline__ void fetch_row(Vector8<T> (&out)[kChunks], const T* row) const {
#pragma unroll
    for (int c = 0; c < kChunks; ++c) {
      out[c] = inside(c) ? fetch(row + first(c)) : Vector8<T>{};
    }
  }

  int width;
  int in_head[kChunks];  // position of the vector in its head
};

// The tokens of a block: every gridDim.x-th. Divides once.
class BlockTokens {
 public:
  __device__ __forceinline__ explicit BlockTokens(const DealtTokens& args)
      : row(blockIdx.x),
        sample(blockIdx.x / static_cast<unsigned>(args.tokens)),
        token(blockIdx.x % static_cast<unsigned>(args.tokens)),
        args_(args) {}
  __device__ __forceinline__ bool done() const { return row >= args_.rows; }
  __device__ __forceinline__ void advance() {
    row += gridDim.x;
    sample += args_.sample_step;
    token += args_.token_step;
    if (token >= static_cast<unsigned>(args_.tokens)) {
      token -= static_cast<unsigned>(args_.tokens);
      ++sample;
    }
  }
  __device__ __forceinline__ std::int64_t begin(const TokenStrides& strides) const {
    return sample * strides.sample + token * strides.token;
  }

  unsigned row, sample, token;

 private:
  const DealtTokens& args_;
};

// Four pairs of values as elements of type T hold them.
__device__ __forceinline__ void round8(float (&)[8], float) {}
__device__ __forceinline__ void round8(float (&value)[8], __nv_bfloat16) {
#pragma unroll
  for (int i = 0; i < 8; i += 2) {
    const float2 both = __bfloat1622float2(__floats2bfloat162_rn(value[i], value[i + 1]));
    value[i] = both.x;
    value[i + 1] = both.y;
  }
}

// Multiplies four pairs by cos + i sin; backwards: by cos - i sin.
template <bool kBackwards>
__device__ __forceinline__ void rotate(float (&value)[8], const float (&turn)[8]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float even = value[2 * i];
    const float odd = value[2 * i + 1];
    const float cosine = turn[2 * i];
    const float sine = kBackwards ? -turn[2 * i + 1] : turn[2 * i + 1];
    value[2 * i] = even * cosine - odd * sine;
    value[2 * i + 1] = even * sine + odd * cosine;
  }
}

template <int kChunks>
inline unsigned threads_of(std::int64_t width) {
  const std::int64_t vectors = width / kVectorElements;
  return static_cast<unsigned>((vectors + 32 * kChunks - 1) / (32 * kChunks) * 32);
}

}  // namespace wam::qk_norm_token
