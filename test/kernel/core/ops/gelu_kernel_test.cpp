#include <utility>

#include <ATen/ops/equal.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros_like.h>

#include "core/ops/column_sum/column_sum.h"
#include "core/ops/gelu/gelu.h"
#include "core/ops/gelu/gelu_plain.h"
#include "test/kernel/core/ops/kernel_check.h"
#include "test/support/catch.h"

namespace wam::test {
namespace {

// Half a unit in the last place of bf16, and a little for the arithmetic in fp32.
constexpr double kHalfUnit = 0x1p-8 + 2e-5;

// The same function in a form that keeps its digits where tanh is near -1.
at::Tensor exact_gelu(const at::Tensor& x) {
  return x * (1.5957691216057308 * (x + 0.044715 * x * x * x)).sigmoid();
}

double largest_share(const at::Tensor& difference, const at::Tensor& of) {
  const at::Tensor share = (difference.abs() / (of.abs() + 1e-28)).flatten();
  const auto at = share.argmax().item<std::int64_t>();
  UNSCOPED_INFO("element " << at << ": off by " << difference.flatten()[at].item<double>() << " of "
                           << of.flatten()[at].item<double>());
  return share[at].item<double>();
}

}  // namespace

TEST_CASE("tanh-GELU in fp32 on the GPU is as precise as its exponent") {
  if (skipped_without_gpu()) return;
  const at::Tensor x = at::linspace(-9.0, 12.0, 1 << 20, at::TensorOptions(at::kCUDA));
  const at::Tensor exact = exact_gelu(wide(x));
  CHECK((exact - tanh_gelu_forward_plain(wide(x))).abs().max().item<double>() < 1e-14);
  CHECK(largest_share(wide(tanh_gelu_forward(x)) - exact, exact) < 2e-5);

  const at::Tensor one = at::ones_like(x);
  const at::Tensor slope = tanh_gelu_backward_plain(wide(one), wide(x), {});
  CHECK((wide(tanh_gelu_backward(one, x)) - slope).abs().max().item<double>() < 5e-6);
}

TEST_CASE("tanh-GELU in bf16 on the GPU rounds once, and is the plain form up to rare ties") {
  if (skipped_without_gpu()) return;
  const at::Tensor x = gpu_normals(1, {597, 3, 344}, at::kBFloat16);
  const at::Tensor dy = gpu_normals(2, {597, 3, 344}, at::kBFloat16);
  const at::Tensor y = tanh_gelu_forward(x);
  const at::Tensor dx = tanh_gelu_backward(dy, x);

  const at::Tensor exact_y = exact_gelu(wide(x));
  const at::Tensor exact_dx = tanh_gelu_backward_plain(wide(dy), wide(x), {});
  CHECK(largest_share(wide(y) - exact_y, exact_y) < kHalfUnit);
  // Near the minimum of GELU the slope is a difference of larger terms.
  CHECK(((wide(dx) - exact_dx).abs() - kHalfUnit * exact_dx.abs() - 5e-6 * wide(dy).abs())
            .max()
            .item<double>() <= 0.0);
  // 1 + tanh(u) of the plain form loses digits below x = -3: there, too, bits differ.
  CHECK(mismatch(y, tanh_gelu_forward_plain(x)) < 5e-3);
  CHECK(mismatch(dx, tanh_gelu_backward_plain(dy, x, {})) < 2e-2);
}

TEST_CASE("tanh-GELU on the GPU at the ends of the range") {
  if (skipped_without_gpu()) return;
  const at::ScalarType type = GENERATE(at::kBFloat16, at::kFloat);
  const at::Tensor far = at::full({8}, 1e4, at::TensorOptions(at::kCUDA).dtype(type));
  const at::Tensor one = at::ones_like(far);
  CHECK(at::equal(tanh_gelu_forward(far), far));
  CHECK(tanh_gelu_forward(-far).abs().max().item<double>() == 0.0);
  CHECK(at::equal(tanh_gelu_backward(one, far), one));
  CHECK(tanh_gelu_backward(one, -far).abs().max().item<double>() == 0.0);
  CHECK(tanh_gelu_forward(at::zeros_like(far)).abs().max().item<double>() == 0.0);
}

TEST_CASE("tanh-GELU backward on the GPU also sums its columns, and repeats bit for bit") {
  if (skipped_without_gpu()) return;
  struct Shape {
    std::int64_t rows, columns;
  };
  const Shape shape =
      GENERATE(Shape{1000, 14336}, Shape{597, 13824}, Shape{37, 344}, Shape{1, 8}, Shape{100, 256});
  const at::ScalarType type = GENERATE(at::kBFloat16, at::kFloat);
  const at::Tensor x = gpu_normals(1, {shape.rows, shape.columns}, type);
  const at::Tensor dy = gpu_normals(2, {shape.rows, shape.columns}, type);
  const at::Tensor start = gpu_normals(3, {shape.columns}, at::kFloat);
  const auto run = [&](const at::Tensor& late_x) {
    at::Tensor gradient = start.clone();
    const at::Tensor dx = tanh_gelu_backward(dy, late_x, gradient);
    return std::pair{dx, gradient};
  };
  const auto [dx, gradient] = run(x);
  INFO(shape.rows << " x " << shape.columns << " " << toString(type));

  CHECK(at::equal(dx, tanh_gelu_backward(dy, x)));
  CHECK(relative_error(dx, tanh_gelu_backward_plain(wide(dy), wide(x), {})) <
        (type == at::kFloat ? 5e-6 : kHalfUnit));
  // The sum is that of dx as it was rounded.
  CHECK(relative_error(gradient, wide(start) + wide(dx).sum(at::IntArrayRef{0})) < 2e-6);
  at::Tensor summed = start.clone();
  add_column_sums(dx, summed);
  CHECK(relative_error(gradient, summed) < 2e-6);

  const auto [dx_again, gradient_again] = run(x);
  CHECK(at::equal(dx_again, dx));
  CHECK(at::equal(gradient_again, gradient));
  CHECK(at::equal(on_other_stream(x, [&](const at::Tensor& late) { return run(late).second; }),
                  gradient));
  CHECK(at::equal(on_other_stream(x, tanh_gelu_forward), tanh_gelu_forward(x)));
}

}  // namespace wam::test
