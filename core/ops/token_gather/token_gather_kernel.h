#pragma once

#include <cstdint>

#include "core/cuda/kernel.h"

namespace wam {

// Strides in elements; a token's `width` elements are contiguous, all multiples of kVectorElements.
struct TokenTensor {
  void* data = nullptr;
  std::int64_t sample_stride = 0;
  std::int64_t token_stride = 0;
};

struct TokenSlotTable {
  const std::int32_t* token = nullptr;  // (slots)
  const std::int32_t* first = nullptr;  // (tokens + 1)
  const std::int32_t* slot = nullptr;   // (slots)
  std::int64_t slots = 0;
  std::int64_t tokens = 0;
};

// See token_gather.h. Both tensors have the same element type.
// Speed: H200, all gathers and sums of the 5B at micro-batch 8: 8.6 ms a step (4.7 TB/s: part of it
// is read from the second-level cache). Stream: ordered on `stream`, does not wait.
void gather_tokens_cuda(const TokenTensor& out,
                        const TokenTensor& x,
                        const TokenSlotTable& table,
                        std::int64_t samples,
                        std::int64_t width,
                        Element element,
                        KernelStream stream);

void sum_slots_cuda(const TokenTensor& out,
                    const TokenTensor& y,
                    const TokenSlotTable& table,
                    std::int64_t samples,
                    std::int64_t width,
                    Element element,
                    KernelStream stream);

}  // namespace wam
