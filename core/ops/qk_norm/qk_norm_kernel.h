#pragma once

#include <cstdint>

#include "core/cuda/kernel.h"

namespace wam {

// Token (b, l) of a tensor starts at element b * sample + l * token; its elements are contiguous.
struct TokenStrides {
  std::int64_t sample = 0;
  std::int64_t token = 0;
};

// What forward and backward share. Strides, width and head_width are multiples of kVectorElements,
// addresses of 16 bytes; width is at most kQkNormMaxWidth; samples * tokens is positive and below
// 2^30.
struct QkNormTokens {
  const void* x = nullptr;
  TokenStrides x_strides;
  const void* weight = nullptr;   // (width)
  const float* rotary = nullptr;  // (tokens, head_width / 2, 2) = (cos, sin); null: no rotation
  float* rstd = nullptr;          // (samples, tokens)
  std::int64_t samples = 0;
  std::int64_t tokens = 0;
  std::int64_t width = 0;
  std::int64_t head_width = 0;
};
inline constexpr std::int64_t kQkNormMaxWidth = 16384;

// y (samples, tokens, width) contiguous, rstd: qk_norm.h. Ordered on `stream`, does not wait.
// Speed: H200, bf16, 8,000 x 3,072: forward 31 us (3.2 TB/s), backward 52 (2.8 TB/s).
void launch_qk_norm_forward(
    void* y, const QkNormTokens& tokens, float eps, Element element, KernelStream stream);

// Blocks of the backward; each leaves the weight gradient of its tokens in a row of `partial`.
std::int64_t qk_norm_backward_blocks(std::int64_t rows, std::int64_t width);

// dx like x, in its type; partial (blocks, width), null: not wanted.
struct QkNormBackward {
  void* dx = nullptr;
  TokenStrides dx_strides;
  const void* dy = nullptr;
  TokenStrides dy_strides;
  Element dy_element = Element::kFloat;  // the type of x, or fp32
  float* partial = nullptr;
  std::int64_t blocks = 0;
};
void launch_qk_norm_backward(const QkNormBackward& backward,
                             const QkNormTokens& tokens,
                             Element element,
                             KernelStream stream);

}  // namespace wam
