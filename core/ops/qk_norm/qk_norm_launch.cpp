#include "core/ops/qk_norm/qk_norm_launch.h"

#include <ATen/ops/empty.h>

#include "core/base/errors.h"
#include "core/cuda/tensor_kernel.h"
#include "core/ops/column_sum/column_sum_launch.h"
#include "core/ops/qk_norm/qk_norm_kernel.h"

namespace wam {
namespace {

TokenStrides strides_of(const at::Tensor& x_BLD) {
  return {.sample = x_BLD.stride(0), .token = x_BLD.stride(1)};
}

// x (B, L, D) and what belongs to it; `rstd` is where it is written or read.
QkNormTokens tokens_of(const at::Tensor& x_BLD,
                       const QkNorm& norm,
                       const at::Tensor& rotary,
                       const at::Tensor& rstd_BL1) {
  const std::int64_t width = x_BLD.size(2);
  const std::int64_t head_width = width / norm.num_heads;
  check_vector_rows(x_BLD, "x");
  check_vector_rows(norm.weight.value, "weight of the q/k norm");
  require<InvariantError>(
      head_width % kVectorElements == 0 && width <= kQkNormMaxWidth &&
          x_BLD.size(0) * x_BLD.size(1) < (std::int64_t{1} << 30),
      "q/k norm of {} x {} tokens of width {} with heads of {}: the kernel takes heads of whole "
      "vectors of {}, widths up to {} and fewer than 2^30 tokens",
      x_BLD.size(0), x_BLD.size(1), width, head_width, kVectorElements, kQkNormMaxWidth);
  invariant(norm.weight.value.scalar_type() == x_BLD.scalar_type() && rstd_BL1.is_contiguous() &&
                rstd_BL1.numel() == x_BLD.size(0) * x_BLD.size(1) &&
                rstd_BL1.scalar_type() == at::kFloat,
            "arguments of the q/k norm belong together");
  if (rotary.defined()) {
    invariant(rotary.is_contiguous() && rotary.scalar_type() == at::kFloat &&
                  rotary.numel() == x_BLD.size(1) * head_width,
              "the rotary table has a row for every token");
    check_vector_rows(rotary.flatten(-2), "rotary table");
  }
  return {.x = x_BLD.const_data_ptr(),
          .x_strides = strides_of(x_BLD),
          .weight = norm.weight.value.const_data_ptr(),
          .rotary = rotary.defined() ? rotary.const_data_ptr<float>() : nullptr,
          .rstd = rstd_BL1.mutable_data_ptr<float>(),
          .samples = x_BLD.size(0),
          .tokens = x_BLD.size(1),
          .width = width,
          .head_width = head_width};
}

// (B, L, N, K) as (B, L, D).
at::Tensor join_heads(const at::Tensor& dy_BLNK) {
  invariant(dy_BLNK.dim() == 4 && (dy_BLNK.size(2) == 1 || dy_BLNK.stride(2) == dy_BLNK.size(3)),
            "the heads of a token's gradient stand next to each other");
  return dy_BLNK.flatten(-2);
}

}  // namespace

at::Tensor qk_norm_forward_launch(const at::Tensor& x_BLD,
                                  const QkNorm& norm,
                                  const at::Tensor& rotary,
                                  at::Tensor& rstd_BL1) {
  rstd_BL1 = at::empty({x_BLD.size(0), x_BLD.size(1), 1}, x_BLD.options().dtype(at::kFloat));
  at::Tensor y =
      at::empty({x_BLD.size(0), x_BLD.size(1), norm.num_heads, x_BLD.size(2) / norm.num_heads},
                x_BLD.options());
  if (x_BLD.numel() == 0) return y;
  launch_qk_norm_forward(y.mutable_data_ptr(), tokens_of(x_BLD, norm, rotary, rstd_BL1),
                         static_cast<float>(norm.eps), element_of(x_BLD), current_stream());
  return y;
}

void qk_norm_backward_launch(const at::Tensor& dy_BLNK,
                             const at::Tensor& x_BLD,
                             const QkNorm& norm,
                             const at::Tensor& rotary,
                             const at::Tensor& rstd_BL1,
                             const at::Tensor& dx_BLD) {
  if (x_BLD.numel() == 0) return;
  const at::Tensor dy_BLD = join_heads(dy_BLNK);
  check_vector_rows(dy_BLD, "dy");
  check_vector_rows(dx_BLD, "dx");
  invariant(dy_BLD.sizes() == x_BLD.sizes() && dx_BLD.sizes() == x_BLD.sizes() &&
                dx_BLD.scalar_type() == x_BLD.scalar_type() &&
                (dy_BLD.scalar_type() == at::kFloat || dy_BLD.scalar_type() == x_BLD.scalar_type()),
            "dy and dx of the q/k norm are like x");
  const std::int64_t blocks = qk_norm_backward_blocks(x_BLD.size(0) * x_BLD.size(1), x_BLD.size(2));
  at::Tensor partial;
  if (norm.weight.gradient.defined()) {
    partial = at::empty({blocks, x_BLD.size(2)}, x_BLD.options().dtype(at::kFloat));
  }
  launch_qk_norm_backward(
      {.dx = dx_BLD.mutable_data_ptr(),
       .dx_strides = strides_of(dx_BLD),
       .dy = dy_BLD.const_data_ptr(),
       .dy_strides = strides_of(dy_BLD),
       .dy_element = element_of(dy_BLD),
       .partial = partial.defined() ? partial.mutable_data_ptr<float>() : nullptr,
       .blocks = blocks},
      tokens_of(x_BLD, norm, rotary, rstd_BL1), element_of(x_BLD), current_stream());
  if (partial.defined()) add_partial_sums_launch(partial, norm.weight.gradient);
}

}  // namespace wam
