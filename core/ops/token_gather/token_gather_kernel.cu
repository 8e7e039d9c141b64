#include <algorithm>

#include "core/cuda/vector.cuh"
#include "core/ops/token_gather/token_gather_kernel.h"

namespace wam {
namespace {

constexpr int kThreads = 256;

// One thread moves 8 elements; x: vectors of one token and the next ones, y: samples.
template <class T>
__global__ void gather_vector_per_thread(TokenTensor out,
                                         TokenTensor x,
                                         const std::int32_t* __restrict__ token,
                                         std::int64_t slots,
                                         std::int64_t vectors) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= slots * vectors) return;
  const std::int64_t slot = i / vectors;
  const std::int64_t at = i % vectors * kVectorElements;
  const std::int64_t sample = blockIdx.y;
  float value[8];
  load8(value, static_cast<const T*>(x.data) + sample * x.sample_stride +
                   token[slot] * x.token_stride + at);
  store8(static_cast<T*>(out.data) + sample * out.sample_stride + slot * out.token_stride + at,
         value);
}

template <class T>
__global__ void sum_vector_per_thread(TokenTensor out,
                                      TokenTensor y,
                                      const std::int32_t* __restrict__ first,
                                      const std::int32_t* __restrict__ slot,
                                      std::int64_t tokens,
                                      std::int64_t vectors) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= tokens * vectors) return;
  const std::int64_t token = i / vectors;
  const std::int64_t at = i % vectors * kVectorElements;
  const std::int64_t sample = blockIdx.y;
  const T* from = static_cast<const T*>(y.data) + sample * y.sample_stride + at;
  float sum[8] = {};
  const std::int32_t end = first[token + 1];
#pragma unroll 4
  for (std::int32_t s = first[token]; s < end; ++s) {
    float value[8];
    load8(value, from + slot[s] * y.token_stride);
#pragma unroll
    for (int k = 0; k < 8; ++k) sum[k] += value[k];
  }
  store8(static_cast<T*>(out.data) + sample * out.sample_stride + token * out.token_stride + at,
         sum);
}

dim3 grid(std::int64_t vectors, std::int64_t samples) {
  return {static_cast<unsigned>((vectors + kThreads - 1) / kThreads),
          static_cast<unsigned>(samples), 1};
}

}  // namespace

void gather_tokens_cuda(const TokenTensor& out,
                        const TokenTensor& x,
                        const TokenSlotTable& table,
                        std::int64_t samples,
                        std::int64_t width,
                        Element element,
                        KernelStream stream) {
  const std::int64_t vectors = width / kVectorElements;
  if (table.slots * vectors * samples == 0) return;
  const auto kernel = element == Element::kBf16 ? gather_vector_per_thread<__nv_bfloat16>
                                                : gather_vector_per_thread<float>;
  kernel<<<grid(table.slots * vectors, samples), kThreads, 0, stream>>>(out, x, table.token,
                                                                        table.slots, vectors);
  check_launch("gather_tokens");
}

void sum_slots_cuda(const TokenTensor& out,
                    const TokenTensor& y,
                    const TokenSlotTable& table,
                    std::int64_t samples,
                    std::int64_t width,
                    Element element,
                    KernelStream stream) {
  const std::int64_t vectors = width / kVectorElements;
  if (table.tokens * vectors * samples == 0) return;
  const auto kernel = element == Element::kBf16 ? sum_vector_per_thread<__nv_bfloat16>
                                                : sum_vector_per_thread<float>;
  kernel<<<grid(table.tokens * vectors, samples), kThreads, 0, stream>>>(
      out, y, table.first, table.slot, table.tokens, vectors);
  check_launch("sum_slots");
}

}  // namespace wam
