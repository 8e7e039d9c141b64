#include <algorithm>

#include "core/cuda/reduce.cuh"
#include "core/ops/qk_norm/qk_norm_kernel.h"
#include "core/ops/qk_norm/qk_norm_token.cuh"

namespace wam::qk_norm_token {
namespace {

template <class T, int kChunks>
__global__ void __launch_bounds__(Limits<kChunks>::kThreads, Limits<kChunks>::kForwardBlocks)
    token_per_block_forward(T* y, const DealtTokens a, float eps) {
  const Columns<kChunks> columns(a);
  const T* x = static_cast<const T*>(a.x);
  BlockTokens ahead(a);
  Vector8<T> weight[kChunks];
  columns.fetch_row(weight, static_cast<const T*>(a.weight));
  Vector8<T> next[kChunks];
  columns.fetch_row(next, x + ahead.begin(a.x_strides));

  while (!ahead.done()) {
    const unsigned row = ahead.row;
    float value[kChunks][8];
    float turn[kChunks][8];
    float square[1] = {0.0F};
#pragma unroll
    for (int c = 0; c < kChunks; ++c) {
      widen(value[c], next[c]);
      if (a.rotary != nullptr && columns.inside(c)) {
        load8(turn[c], a.rotary + ahead.token * a.head_width + columns.in_head[c]);
      }
#pragma unroll
      for (int i = 0; i < 8; ++i) square[0] += value[c][i] * value[c][i];
    }
    ahead.advance();
    if (!ahead.done()) columns.fetch_row(next, x + ahead.begin(a.x_strides));
    block_sum(square);
    const float rstd = rsqrtf(square[0] / static_cast<float>(columns.width) + eps);
    if (threadIdx.x == 0) a.rstd[row] = rstd;
#pragma unroll
    for (int c = 0; c < kChunks; ++c) {
      if (!columns.inside(c)) continue;
      float w[8];
      widen(w, weight[c]);
#pragma unroll
      for (int i = 0; i < 8; ++i) value[c][i] *= rstd;
      round8(value[c], T{});
#pragma unroll
      for (int i = 0; i < 8; ++i) value[c][i] *= w[i];
      round8(value[c], T{});
      if (a.rotary != nullptr) rotate<false>(value[c], turn[c]);
      store8(y + row * a.width + columns.first(c), value[c]);
    }
  }
}

template <class T, int kChunks>
void forward(void* y, const QkNormTokens& a, float eps, KernelStream stream) {
  const std::int64_t blocks =
      std::min(a.samples * a.tokens, kSms * Limits<kChunks>::kForwardBlocks);
  token_per_block_forward<T, kChunks>
      <<<static_cast<unsigned>(blocks), threads_of<kChunks>(a.width), 0, stream>>>(
          static_cast<T*>(y), DealtTokens(a, blocks), eps);
}

template <class T>
void forward_by_width(void* y, const QkNormTokens& a, float eps, KernelStream stream) {
  switch (chunks_of(a.width)) {
    case 1:
      return forward<T, 1>(y, a, eps, stream);
    case 2:
      return forward<T, 2>(y, a, eps, stream);
    default:
      return forward<T, 4>(y, a, eps, stream);
  }
}

}  // namespace
}  // namespace wam::qk_norm_token

namespace wam {

void launch_qk_norm_forward(
    void* y, const QkNormTokens& tokens, float eps, Element element, KernelStream stream) {
  if (element == Element::kBf16) {
    qk_norm_token::forward_by_width<__nv_bfloat16>(y, tokens, eps, stream);
  } else {
    qk_norm_token::forward_by_width<float>(y, tokens, eps, stream);
  }
  check_launch("q/k norm forward");
}

}  // namespace wam
