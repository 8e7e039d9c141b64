#include <algorithm>

#include "core/cuda/reduce.cuh"
#include "core/ops/qk_norm/qk_norm_kernel.h"
#include "core/ops/qk_norm/qk_norm_token.cuh"

namespace wam::qk_norm_token {
namespace {

// Long because the vectors of a thread stay in registers from end to end.
template <class T, class G, int kChunks>
__global__ void __launch_bounds__(Limits<kChunks>::kThreads, Limits<kChunks>::kBackwardBlocks)
    token_per_block_backward(const QkNormBackward b, const DealtTokens a) {
  const Columns<kChunks> columns(a);
  const T* x = static_cast<const T*>(a.x);
  const G* dy = static_cast<const G*>(b.dy);
  BlockTokens ahead(a);
  Vector8<T> weight[kChunks];
  columns.fetch_row(weight, static_cast<const T*>(a.weight));
  Vector8<T> next_x[kChunks];
  Vector8<G> next_dy[kChunks];
  float next_rstd;
  const auto fetch_next = [&] {
    columns.fetch_row(next_x, x + ahead.begin(a.x_strides));
    columns.fetch_row(next_dy, dy + ahead.begin(b.dy_strides));
    next_rstd = a.rstd[ahead.row];
  };
  fetch_next();
  float dweight[kChunks][8] = {};

  while (!ahead.done()) {
    const unsigned token = ahead.token;
    T* to = static_cast<T*>(b.dx) + ahead.begin(b.dx_strides);
    Vector8<T> now_x[kChunks];
    float dn[kChunks][8];
    float along[1] = {0.0F};
    const float rstd = next_rstd;
#pragma unroll
    for (int c = 0; c < kChunks; ++c) {
      now_x[c] = next_x[c];
      widen(dn[c], next_dy[c]);
    }
    ahead.advance();
    if (!ahead.done()) fetch_next();
#pragma unroll
    for (int c = 0; c < kChunks; ++c) {
      if (a.rotary != nullptr && columns.inside(c)) {
        float turn[8];
        load8(turn, a.rotary + token * a.head_width + columns.in_head[c]);
        rotate<true>(dn[c], turn);
      }
      float n[8];
      float w[8];
      widen(n, now_x[c]);
      widen(w, weight[c]);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        n[i] *= rstd;
        dweight[c][i] += dn[c][i] * n[i];
        dn[c][i] *= w[i];
        along[0] += dn[c][i] * n[i];
      }
    }
    block_sum(along);
    const float mean = along[0] / static_cast<float>(columns.width);
#pragma unroll
    for (int c = 0; c < kChunks; ++c) {
      if (!columns.inside(c)) continue;
      float n[8];
      widen(n, now_x[c]);
#pragma unroll
      for (int i = 0; i < 8; ++i) dn[c][i] = (dn[c][i] - n[i] * rstd * mean) * rstd;
      store8(to + columns.first(c), dn[c]);
    }
  }
  if (b.partial == nullptr) return;
#pragma unroll
  for (int c = 0; c < kChunks; ++c) {
    if (columns.inside(c)) {
      store8(b.partial + blockIdx.x * a.width + columns.first(c), dweight[c]);
    }
  }
}

template <class T, class G, int kChunks>
void backward(const QkNormBackward& b, const QkNormTokens& a, KernelStream stream) {
  token_per_block_backward<T, G, kChunks>
      <<<static_cast<unsigned>(b.blocks), threads_of<kChunks>(a.width), 0, stream>>>(
          b, DealtTokens(a, b.blocks));
}

template <class T, class G>
void backward_by_width(const QkNormBackward& b, const QkNormTokens& a, KernelStream stream) {
  switch (chunks_of(a.width)) {
    case 1:
      return backward<T, G, 1>(b, a, stream);
    case 2:
      return backward<T, G, 2>(b, a, stream);
    default:
      return backward<T, G, 4>(b, a, stream);
  }
}

}  // namespace
}  // namespace wam::qk_norm_token

namespace wam {

std::int64_t qk_norm_backward_blocks(std::int64_t rows, std::int64_t width) {
  const int chunks = qk_norm_token::chunks_of(width);
  const std::int64_t per_sm = chunks == 1   ? qk_norm_token::Limits<1>::kBackwardBlocks
                              : chunks == 2 ? qk_norm_token::Limits<2>::kBackwardBlocks
                                            : qk_norm_token::Limits<4>::kBackwardBlocks;
  // Four tokens a block at least, so that the partial sums stay few beside them.
  return std::min((rows + 3) / 4, qk_norm_token::kSms * per_sm);
}

void launch_qk_norm_backward(const QkNormBackward& b,
                             const QkNormTokens& a,
                             Element element,
                             KernelStream stream) {
  if (element == Element::kFloat) {
    qk_norm_token::backward_by_width<float, float>(b, a, stream);
  } else if (b.dy_element == Element::kFloat) {
    qk_norm_token::backward_by_width<__nv_bfloat16, float>(b, a, stream);
  } else {
    qk_norm_token::backward_by_width<__nv_bfloat16, __nv_bfloat16>(b, a, stream);
  }
  check_launch("q/k norm backward");
}

}  // namespace wam
