#include <utility>

#include <ATen/ops/equal.h>
#include <ATen/ops/stack.h>

#include "core/ops/qk_norm/qk_norm.h"
#include "core/ops/qk_norm/qk_norm_plain.h"
#include "test/kernel/core/ops/kernel_check.h"
#include "test/support/catch.h"

namespace wam::test {
namespace {

struct Shape {
  std::int64_t samples, tokens, heads, head_width;
  [[nodiscard]] std::int64_t width() const { return heads * head_width; }
};

// A third of a fused product, of some of its tokens.
at::Tensor third(const at::Tensor& fused, const Shape& s) {
  return fused.narrow(1, 2, s.tokens).narrow(2, s.width(), s.width());
}

struct Case {
  at::Tensor x, weight, rotary, dy, start;
  Shape shape;

  Case(const Shape& s, at::ScalarType type, at::ScalarType dy_type, bool rotated) : shape(s) {
    x = third(gpu_normals(1, {s.samples, s.tokens + 3, 3 * s.width()}, type), s);
    weight = (1 + gpu_normals(2, {s.width()}, at::kFloat) / 4).to(type);
    dy = gpu_normals(3, {s.samples, s.tokens + 1, s.heads, s.head_width}, dy_type).slice(1, 1);
    start = gpu_normals(4, {s.width()}, at::kFloat);
    if (!rotated) return;
    const at::Tensor angle = gpu_normals(5, {s.tokens + 5, s.head_width / 2}, at::kFloat) * 3;
    rotary = at::stack({angle.cos(), angle.sin()}, -1).slice(0, 5);
  }

  struct Result {
    at::Tensor y, rstd, fused_dx, dx, dweight;
  };
  [[nodiscard]] Result run(const at::Tensor& late_x) const {
    const at::Tensor fused =
        at::full({shape.samples, shape.tokens + 3, 3 * shape.width()}, 7.0, x.options());
    Result r{.y = {},
             .rstd = {},
             .fused_dx = fused,
             .dx = third(fused, shape),
             .dweight = start.clone()};
    const QkNorm norm{.weight = {weight, r.dweight}, .eps = 1e-6, .num_heads = shape.heads};
    r.y = qk_norm_forward(late_x, norm, rotary, r.rstd);
    qk_norm_backward(dy, late_x, norm, rotary, r.rstd, r.dx);
    return r;
  }
  // The plain form, everything as `type`.
  [[nodiscard]] Result plain(at::ScalarType type) const {
    const auto wide_type = accumulate_type(type);
    Result r{.y = {},
             .rstd = {},
             .fused_dx = {},
             .dx = at::empty(x.sizes(), x.options().dtype(type)),
             .dweight = start.to(wide_type, /*non_blocking=*/false, /*copy=*/true)};
    const QkNorm norm{
        .weight = {weight.to(type), r.dweight}, .eps = 1e-6, .num_heads = shape.heads};
    const at::Tensor table = rotary.defined() ? rotary.to(wide_type) : rotary;
    r.y = qk_norm_forward_plain(x.to(type), norm, table, r.rstd);
    qk_norm_backward_plain(dy.to(wide_type), x.to(type), norm, table, r.rstd, r.dx);
    return r;
  }
};

}  // namespace

TEST_CASE("q/k norm on the GPU equals the plain form and repeats bit for bit") {
  if (skipped_without_gpu()) return;
  // Up to 3,072, 5,120 and more columns; columns that fill no warp; more tokens than blocks.
  const Shape shape =
      GENERATE(Shape{3, 337, 24, 128}, Shape{1, 1, 24, 128}, Shape{2, 297, 40, 128},
               Shape{2, 5, 4, 24}, Shape{1, 7, 64, 128}, Shape{9, 11, 43, 8}, Shape{40, 41, 3, 64});
  using Types = std::pair<at::ScalarType, at::ScalarType>;
  const auto [type, dy_type] =
      GENERATE(Types{at::kBFloat16, at::kFloat}, Types{at::kBFloat16, at::kBFloat16},
               Types{at::kFloat, at::kFloat});
  const bool rotated = GENERATE(true, false);
  INFO(shape.samples << " x " << shape.tokens << ", " << shape.heads << " heads of "
                     << shape.head_width << ", " << toString(type) << ", dy " << toString(dy_type)
                     << ", rotated " << rotated);
  const Case c(shape, type, dy_type, rotated);
  const Case::Result found = c.run(c.x);
  const Case::Result exact = c.plain(at::kDouble);
  const bool bf16 = type == at::kBFloat16;

  CHECK(found.rstd.sizes() == at::IntArrayRef{shape.samples, shape.tokens, 1});
  CHECK(relative_error(found.rstd, exact.rstd) < 1e-6);
  // n and z round before the pair of them turns (a factor of at most 2^0.5), y after it.
  CHECK(relative_error(found.y, exact.y) < (bf16 ? 4 * 0x1p-8 : 2e-6));
  CHECK(relative_error(found.dx, exact.dx) < (bf16 ? 0x1p-8 + 1e-5 : 4e-6));
  CHECK(relative_error(found.dweight, exact.dweight) < 1e-5);
  if (bf16) {
    // The rounding points are those of the plain form: only ties fall to the other side.
    const Case::Result plain = c.plain(type);
    CHECK(mismatch(found.y, plain.y) < 5e-3);
    CHECK(mismatch(found.dx, plain.dx) < 5e-3);
  }

  // Nothing beside the third is written.
  at::Tensor around = found.fused_dx.clone();
  third(around, shape).fill_(7.0);
  CHECK(around.eq(7.0).all().item<bool>());

  const Case::Result again = c.run(c.x);
  CHECK(at::equal(again.y, found.y));
  CHECK(at::equal(again.fused_dx, found.fused_dx));
  CHECK(at::equal(again.dweight, found.dweight));
  CHECK(at::equal(on_other_stream(c.x, [&](const at::Tensor& late) { return c.run(late).y; }),
                  found.y));
  CHECK(at::equal(on_other_stream(c.x, [&](const at::Tensor& late) { return c.run(late).dweight; }),
                  found.dweight));
}

TEST_CASE("q/k norm on the GPU without a weight gradient returns the same dx") {
  if (skipped_without_gpu()) return;
  const Case c({2, 33, 24, 128}, at::kBFloat16, at::kFloat, true);
  const Case::Result found = c.run(c.x);
  const QkNorm frozen{.weight = {c.weight, {}}, .eps = 1e-6, .num_heads = 24};
  CHECK(at::equal(qk_norm_backward(c.dy, c.x, frozen, c.rotary, found.rstd), found.dx));
}

}  // namespace wam::test
