#include "core/ops/gelu/gelu.h"

#include <ATen/ops/equal.h>

#include "test/support/catch.h"
#include "test/unit/core/ops/numbers.h"

namespace wam::test {

TEST_CASE("GELU's backward also sums what it returns, as rounded, over all rows") {
  const at::Tensor x = normals({2, 50, 3}, 1).to(at::kBFloat16);
  const at::Tensor dy = normals({2, 50, 3}, 2).to(at::kBFloat16);
  const at::Tensor start = normals({3}, 3);
  const at::Tensor gradient = start.clone();
  const at::Tensor dx = tanh_gelu_backward(dy, x, gradient);
  CHECK(at::equal(dx, tanh_gelu_backward(dy, x)));
  CHECK(largest_error(gradient, start + dx.to(at::kDouble).sum(at::IntArrayRef{0, 1})) < 1e-14);
}

}  // namespace wam::test
