#include "core/ops/column_sum/column_sum.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include "core/base/errors.h"
#include "test/support/catch.h"

namespace wam::test {

TEST_CASE("Column sums of strided rows add to a gradient, in one or more parts") {
  const at::Tensor x = at::tensor({9.0, 1.0, 2.0, 9.0, 9.0, 3.0, 4.0, 9.0}, at::kDouble)
                           .view({2, 4})
                           .narrow(1, 1, 2);
  const at::Tensor gradient = at::tensor({10.0, 20.0}, at::kDouble);
  add_column_sums(x, gradient);
  CHECK(at::equal(gradient, at::tensor({14.0, 26.0}, at::kDouble)));

  const at::Tensor padded = at::zeros({2, 3}, at::kDouble);
  add_column_sums(x, padded.narrow(1, 0, 1));
  CHECK(at::equal(padded.flatten(), at::tensor({4.0, 0.0, 0.0, 6.0, 0.0, 0.0}, at::kDouble)));
  CHECK_THROWS_AS(add_column_sums(x, padded), InvariantError);
}

TEST_CASE("Column sums of bf16 are summed in the gradient's type") {
  const at::Tensor x = at::full({1000, 2}, 1.0, at::kBFloat16);
  const at::Tensor gradient = at::zeros({2}, at::kFloat);
  add_column_sums(x, gradient);
  CHECK(at::equal(gradient, at::tensor({1000.0F, 1000.0F})));
}

}  // namespace wam::test
