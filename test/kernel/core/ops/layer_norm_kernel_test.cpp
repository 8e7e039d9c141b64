#include <ATen/ops/equal.h>

#include "core/ops/layer_norm/layer_norm.h"
#include "core/ops/layer_norm/layer_norm_plain.h"
#include "test/kernel/core/ops/row_ops.h"
#include "test/support/catch.h"

namespace wam::test {
namespace {

constexpr double kEps = 1e-6;

struct Found {
  at::Tensor y, dx, dweight, dbias;
  NormStatistics statistics;
};

struct Case {
  Case(std::int64_t batch,
       std::int64_t tokens,
       std::int64_t width,
       at::ScalarType element,
       bool with_residual)
      : type(element),
        x(draws(1, {batch, tokens, width}, element)),
        dy(draws(2, {batch, tokens, width}, element)),
        residual(with_residual ? draws(3, {batch, tokens, width}, element) : at::Tensor{}),
        weight(draws(4, {width}, element)),
        bias(draws(5, {width}, element)),
        gradients(draws(6, {2, width}, at::kFloat)) {}

  [[nodiscard]] Found kernel() const {
    Found f;
    const at::Tensor gpu_x = narrowed_on_gpu(x, type);
    const at::Tensor g = on_gpu(gradients, at::kFloat);
    const LayerNorm norm{{on_gpu(weight, type), g[0]}, {on_gpu(bias, type), g[1]}};
    f.y = layer_norm_forward(gpu_x, norm, kEps, f.statistics);
    f.dx = layer_norm_backward(narrowed_on_gpu(dy, type), gpu_x, norm, f.statistics,
                               residual.defined() ? narrowed_on_gpu(residual, type) : residual);
    f.dweight = g[0];
    f.dbias = g[1];
    return f;
  }

  [[nodiscard]] Found twin() const {
    Found f;
    const at::Tensor g = gradients.clone();
    const LayerNorm norm{{weight, g[0]}, {bias, g[1]}};
    f.y = layer_norm_forward_plain(x, norm, kEps, f.statistics);
    f.dx = layer_norm_backward_plain(dy, x, norm, f.statistics, residual);
    f.dweight = g[0];
    f.dbias = g[1];
    return f;
  }

  at::ScalarType type;
  at::Tensor x, dy, residual, weight, bias, gradients;
};

}  // namespace

TEST_CASE("Affine layer norm: the kernels equal their twin") {
  if (!gpu_available()) {
    std::puts("SKIPPED: no GPU");
    return;
  }
  struct Shape {
    std::int64_t batch, tokens, width;
  };
  for (const auto type : {at::kBFloat16, at::kFloat}) {
    for (const bool with_residual : {false, true}) {
      for (const Shape s : {Shape{3, 61, 96}, Shape{2, 597, 3072}, Shape{1, 43, 5120},
                            Shape{40, 37, 264}, Shape{1, 1, 8}, Shape{300, 3, 8192}}) {
        INFO(c10::toString(type) << ", " << s.batch << " x " << s.tokens << " x " << s.width
                                 << ", residual " << with_residual);
        const Case c(s.batch, s.tokens, s.width, type, with_residual);
        const Found found = c.kernel();
        const Found expected = c.twin();
        const std::int64_t all_tokens = s.batch * s.tokens;
        CHECK(excess(found.statistics.mean, expected.statistics.mean, s.width) < 1);
        CHECK(excess(found.statistics.rstd, expected.statistics.rstd, s.width) < 1);
        CHECK(excess(found.y, expected.y, s.width) < 1);
        CHECK(excess(found.dx, expected.dx, s.width) < 1);
        CHECK(excess(found.dweight, expected.dweight, all_tokens) < 1);
        CHECK(excess(found.dbias, expected.dbias, all_tokens) < 1);
      }
    }
  }
}

TEST_CASE("Affine layer norm: two runs give the same bits, on any stream") {
  if (!gpu_available()) {
    std::puts("SKIPPED: no GPU");
    return;
  }
  const Case c(8, 1000, 264, at::kBFloat16, true);
  const Found first = c.kernel();
  for (int i = 0; i < 3; ++i) {
    Found again;
    on_side_stream([&] { again = c.kernel(); });
    CHECK(at::equal(again.y, first.y));
    CHECK(at::equal(again.dx, first.dx));
    CHECK(at::equal(again.dweight, first.dweight));
    CHECK(at::equal(again.dbias, first.dbias));
  }
}

TEST_CASE("Affine layer norm: frozen parameters get no gradient") {
  if (!gpu_available()) {
    std::puts("SKIPPED: no GPU");
    return;
  }
  const Case c(2, 61, 96, at::kBFloat16, false);
  const at::Tensor x = on_gpu(c.x, c.type);
  const at::Tensor dbias = on_gpu(c.gradients, at::kFloat)[1];
  const LayerNorm frozen{{on_gpu(c.weight, c.type), {}}, {on_gpu(c.bias, c.type), {}}};
  const LayerNorm half_frozen{frozen.weight, {frozen.bias.value, dbias}};
  NormStatistics statistics;
  layer_norm_forward(x, frozen, kEps, statistics);
  const Found all = c.kernel();
  CHECK(at::equal(layer_norm_backward(on_gpu(c.dy, c.type), x, frozen, statistics), all.dx));
  CHECK(at::equal(layer_norm_backward(on_gpu(c.dy, c.type), x, half_frozen, statistics), all.dx));
  CHECK(at::equal(dbias, all.dbias));
}

}  // namespace wam::test
