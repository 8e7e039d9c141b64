#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace wam {

// The fixed length that a text of `tokens` tokens (1 to 512) is padded to: 64, 128, 256 or 512, so
// that the shapes of a run are few. Errors: InvariantError outside that range.
std::int64_t padded_text_length(std::int64_t tokens);

// The texts of one micro-batch. B batch · M text token · D text width
struct TextBatch {
  at::Tensor text_BMD;  // bf16 on the CPU, zero past a text's length
  std::vector<std::int64_t> length;
};

// Stacks the rows (length, D) of the texts, padded to padded_text_length of the longest (64 for an
// empty batch). Errors: InvariantError when a width differs from `width`.
TextBatch stack_text(const std::vector<at::Tensor>& rows, std::int64_t width);

}  // namespace wam
