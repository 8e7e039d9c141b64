#include <ATen/ops/equal.h>

#include "core/ops/linear/linear.h"
#include "test/kernel/core/ops/kernel_check.h"
#include "test/support/catch.h"

namespace wam::test {
namespace {

// Three maps whose parameters follow each other in one buffer, as in a unit.
struct Maps {
  std::int64_t width;
  at::Tensor value = gpu_normals(1, {3 * width * (width + 1)}, at::kBFloat16) / 16;
  at::Tensor gradient = gpu_normals(2, {3 * width * (width + 1)}, at::kFloat);

  [[nodiscard]] at::Tensor weights(const at::Tensor& flat) const {
    return flat.narrow(0, 0, 3 * width * width).view({3, width, width});
  }
  [[nodiscard]] at::Tensor biases(const at::Tensor& flat) const {
    return flat.narrow(0, 3 * width * width, 3 * width).view({3, width});
  }
  [[nodiscard]] Linear part(std::int64_t i) const {
    return {.weight = {weights(value).select(0, i), weights(gradient).select(0, i)},
            .bias = {biases(value).select(0, i), biases(gradient).select(0, i)}};
  }
  [[nodiscard]] Linear all() const { return joined({part(0), part(1), part(2)}); }
};

}  // namespace

TEST_CASE("A joined product on the GPU equals its parts in double, forward and backward") {
  if (skipped_without_gpu()) return;
  const Maps maps{.width = 256};
  const at::Tensor start = maps.gradient.clone();
  const at::Tensor x = gpu_normals(3, {2, 333, 256}, at::kBFloat16);
  const at::Tensor dy = gpu_normals(4, {2, 333, 768}, at::kBFloat16);
  const at::Tensor w = wide(maps.weights(maps.value)).view({768, 256});
  const at::Tensor x_rows = wide(x).view({-1, 256});
  const at::Tensor dy_rows = wide(dy).view({-1, 768});

  const at::Tensor y = linear_forward(x, maps.all());
  const at::Tensor dx = linear_backward(dy, x, maps.all());

  constexpr double kOneRounding = 0x1p-8 + 1e-4;
  CHECK(relative_error(y.view({-1, 768}),
                       x_rows.mm(w.t()) + wide(maps.biases(maps.value)).flatten()) < kOneRounding);
  CHECK(relative_error(dx.view({-1, 256}), dy_rows.mm(w)) < kOneRounding);
  CHECK(relative_error(maps.weights(maps.gradient).view({768, 256}),
                       wide(maps.weights(start)).view({768, 256}) + dy_rows.t().mm(x_rows)) < 1e-5);
  CHECK(relative_error(maps.biases(maps.gradient).flatten(),
                       wide(maps.biases(start)).flatten() + dy_rows.sum(at::IntArrayRef{0})) <
        1e-5);
}

TEST_CASE("A gradient of the input on the GPU adds to all tokens, or to a range of them") {
  if (skipped_without_gpu()) return;
  const Maps maps{.width = 256};
  const Linear q = maps.part(0);
  const at::Tensor dy = gpu_normals(4, {3, 20, 768}, at::kBFloat16).narrow(2, 256, 256);
  const at::Tensor start = gpu_normals(5, {3, 33, 256}, at::kBFloat16);
  const at::Tensor sum = wide(start.narrow(1, 5, 20)) + wide(dy).matmul(wide(q.weight.value));

  at::Tensor range = start.clone();
  add_linear_backward_input(dy, q, range.narrow(1, 5, 20));
  CHECK(relative_error(range.narrow(1, 5, 20), sum) < 0x1p-8 + 1e-4);
  CHECK(at::equal(range.narrow(1, 0, 5), start.narrow(1, 0, 5)));
  CHECK(at::equal(range.narrow(1, 25, 8), start.narrow(1, 25, 8)));

  at::Tensor whole = start.narrow(1, 5, 20).clone();
  add_linear_backward_input(dy, q, whole);
  CHECK(relative_error(whole, sum) < 0x1p-8 + 1e-4);
}

}  // namespace wam::test
