#include "data/text_cache/text_batch.h"

#include <algorithm>
#include <array>

#include <ATen/ops/zeros.h>

#include "core/base/errors.h"

namespace wam {

std::int64_t padded_text_length(std::int64_t tokens) {
  constexpr std::array<std::int64_t, 4> kLengths{64, 128, 256, 512};
  invariant(tokens >= 1 && tokens <= kLengths.back(), "a text of 1 to 512 tokens");
  return *std::lower_bound(kLengths.begin(), kLengths.end(), tokens);
}

TextBatch stack_text(const std::vector<at::Tensor>& rows, std::int64_t width) {
  TextBatch out;
  std::int64_t longest = 1;
  for (const at::Tensor& text_MD : rows) {
    invariant(text_MD.dim() == 2 && text_MD.size(1) == width, "text rows of the common width");
    out.length.push_back(text_MD.size(0));
    longest = std::max(longest, text_MD.size(0));
  }
  const auto batch = static_cast<std::int64_t>(rows.size());
  out.text_BMD = at::zeros({batch, padded_text_length(longest), width}, at::kBFloat16);
  for (std::int64_t b = 0; b < batch; ++b) {
    const at::Tensor& text_MD = rows[static_cast<std::size_t>(b)];
    out.text_BMD.select(0, b).narrow(0, 0, text_MD.size(0)).copy_(text_MD);
  }
  return out;
}

}  // namespace wam
