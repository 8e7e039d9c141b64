#include "core/ops/qk_norm/qk_norm.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include "test/support/catch.h"
#include "test/unit/core/ops/numbers.h"

namespace wam::test {

TEST_CASE("q/k norm reads and writes a third of a fused tensor") {
  const auto third = [](const at::Tensor& fused) { return fused.narrow(1, 1, 5).narrow(2, 8, 8); };
  const at::Tensor x = third(normals({2, 7, 24}, 1));
  const at::Tensor dy = normals({2, 6, 2, 4}, 2).slice(1, 1);
  const at::Tensor angle = normals({5, 2}, 3);
  const at::Tensor rotary = at::stack({angle.cos(), angle.sin()}, -1);
  const auto norm = [] {
    return QkNorm{.weight = {normals({8}, 4), at::zeros({8}, at::kDouble)}, .num_heads = 2};
  };

  at::Tensor rstd, dense_rstd;
  const QkNorm strided_norm = norm();
  const QkNorm dense_norm = norm();
  const at::Tensor fused = at::full({2, 7, 24}, 7.0, at::kDouble);
  const at::Tensor y = qk_norm_forward(x, strided_norm, rotary, rstd);
  qk_norm_backward(dy, x, strided_norm, rotary, rstd, third(fused));

  CHECK(at::equal(y, qk_norm_forward(x.contiguous(), dense_norm, rotary, dense_rstd)));
  CHECK(at::equal(third(fused), qk_norm_backward(dy.contiguous(), x.contiguous(), dense_norm,
                                                 rotary, dense_rstd)));
  CHECK(at::equal(strided_norm.weight.gradient, dense_norm.weight.gradient));
  CHECK(fused.eq(7.0).sum().item<std::int64_t>() == 2 * 7 * 24 - 2 * 5 * 8);
}

}  // namespace wam::test
