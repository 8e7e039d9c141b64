#pragma once

#include <ATen/core/Tensor.h>

namespace wam {

// softmax(q k^T * scale) v over the last two dims, no mask. bf16 operands: scores and softmax in
// fp32, the weights rounded once before the product with v. The rows are worked off in pieces, so
// that scores take at most 256 MiB.
//
// Shape: q, k, v (R, L, K), the result too. R is every leading dim, folded.
at::Tensor frozen_attention(const at::Tensor& q_RLK,
                            const at::Tensor& k_RLK,
                            const at::Tensor& v_RLK,
                            double scale);

}  // namespace wam
