#include "core/ops/linear/linear.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>

#include "core/base/errors.h"
#include "test/support/catch.h"
#include "test/unit/core/ops/numbers.h"

namespace wam::test {
namespace {

constexpr std::int64_t kIn = 4;
constexpr std::int64_t kOut = 3;

// Parts as a unit lays them out: weights, then biases that start `bias_step` elements apart.
struct Parts {
  std::int64_t bias_step;
  at::Tensor value = normals({3 * (kOut * kIn + bias_step)}, 1);
  at::Tensor gradient = normals({3 * (kOut * kIn + bias_step)}, 2);

  [[nodiscard]] static at::Tensor weight(const at::Tensor& flat, std::int64_t i) {
    return flat.narrow(0, i * kOut * kIn, kOut * kIn).view({kOut, kIn});
  }
  [[nodiscard]] at::Tensor bias(const at::Tensor& flat, std::int64_t i) const {
    return flat.narrow(0, 3 * kOut * kIn + i * bias_step, kOut);
  }
  [[nodiscard]] Linear part(std::int64_t i) const {
    return {.weight = {weight(value, i), weight(gradient, i)},
            .bias = {bias(value, i), bias(gradient, i)}};
  }
};

}  // namespace

TEST_CASE("Joined maps are one product of what each gives, forward and backward") {
  const std::int64_t bias_step = GENERATE(std::int64_t{kOut}, std::int64_t{8});
  Parts apart{.bias_step = bias_step};
  Parts together{.bias_step = bias_step};
  const Linear all = joined({together.part(0), together.part(1), together.part(2)});
  const at::Tensor x = normals({2, 5, kIn}, 3);
  const at::Tensor dy = normals({2, 5, 3 * kOut}, 4);

  std::vector<at::Tensor> y;
  at::Tensor dx;
  for (std::int64_t i = 0; i < 3; ++i) {
    y.push_back(linear_forward(x, apart.part(i)));
    const at::Tensor part = linear_backward(dy.narrow(2, i * kOut, kOut), x, apart.part(i));
    dx = dx.defined() ? dx + part : part;
  }

  CHECK(largest_error(linear_forward(x, all), at::cat(y, -1)) < 1e-14);
  CHECK(largest_error(linear_backward(dy, x, all), dx) < 1e-14);
  // The gradients lie in the same memory; what pads it is untouched.
  CHECK(largest_error(together.gradient, apart.gradient) < 1e-14);
}

TEST_CASE("Maps that do not follow each other in memory are not joined") {
  const Parts p{.bias_step = kOut};
  CHECK_THROWS_WITH(joined({p.part(1), p.part(0)}), Catch::Contains("do not follow each other"));
  CHECK_THROWS_WITH(joined({p.part(0), p.part(2)}), Catch::Contains("do not follow each other"));
  const Parts other{.bias_step = kOut};
  CHECK_THROWS_AS(joined({p.part(0), other.part(1)}), InvariantError);
  Linear frozen = p.part(1);
  frozen.weight.gradient.reset();
  CHECK_THROWS_AS(joined({p.part(0), frozen}), InvariantError);
}

TEST_CASE("Joined frozen maps have no gradient") {
  const Parts p{.bias_step = kOut};
  const auto frozen = [&](std::int64_t i) {
    return Linear{.weight = {p.part(i).weight.value, {}}, .bias = {p.part(i).bias.value, {}}};
  };
  const Linear both = joined({frozen(0), frozen(1)});
  CHECK(both.weight.value.sizes() == at::IntArrayRef{2 * kOut, kIn});
  CHECK_FALSE(both.weight.gradient.defined());
  CHECK_FALSE(both.bias.gradient.defined());
}

TEST_CASE("The gradient of an input adds to all tokens, or to a range of them") {
  const Parts p{.bias_step = kOut};
  const Linear linear = p.part(0);
  const at::Tensor dy = normals({2, 3, kOut}, 5);
  const at::Tensor start = normals({2, 7, kIn}, 6);
  at::Tensor expected = start.clone();
  expected.narrow(1, 2, 3).add_(dy.matmul(linear.weight.value));

  at::Tensor range = start.clone();
  add_linear_backward_input(dy, linear, range.narrow(1, 2, 3));
  CHECK(largest_error(range, expected) < 1e-14);

  at::Tensor whole = start.narrow(1, 2, 3).clone();
  add_linear_backward_input(dy, linear, whole);
  CHECK(largest_error(whole, expected.narrow(1, 2, 3)) < 1e-14);
}

TEST_CASE("The halves of a linear backward, and one that leaves the bias out") {
  const Parts p{.bias_step = kOut};
  const at::Tensor x = normals({2, 5, kIn}, 3);
  const at::Tensor dy = normals({2, 5, kOut}, 4);
  const at::Tensor before = p.gradient.clone();
  CHECK(largest_error(linear_backward_input(dy, p.part(0)), dy.matmul(p.part(0).weight.value)) <
        1e-14);
  CHECK(at::equal(p.gradient, before));

  linear_backward_parameters(dy, x, without_bias_gradient(p.part(0)));
  const at::Tensor dw = dy.view({10, kOut}).t().mm(x.view({10, kIn}));
  CHECK(largest_error(Parts::weight(p.gradient, 0), Parts::weight(before, 0) + dw) < 1e-14);
  CHECK(at::equal(p.bias(p.gradient, 0), p.bias(before, 0)));
}

}  // namespace wam::test
