#pragma once

#include <ATen/core/Tensor.h>

namespace wam {

// gradient[o] += sum over r of dy[r, o], summed in the gradient's type and in a fixed order: the
// gradient of a bias.
//
// Shape:  dy (R, O), rows of any stride; gradient O elements in the order of the columns: (O), or
//         (P, O / P) where parts of a bias are padded apart.
// GPU:    reads dy once: 8,000 x 14,336 in bf16 are 229 MB, 57 us at 4 TB/s. Partial sums add less
//         than 4 % to the bytes.
void add_column_sums(const at::Tensor& dy_RO, const at::Tensor& gradient_O);

}  // namespace wam
