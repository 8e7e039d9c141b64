#include <cmath>

#include <ATen/ops/equal.h>
#include <ATen/ops/zeros.h>

#include "core/ops/column_sum/column_sum.h"
#include "core/ops/column_sum/column_sum_plain.h"
#include "test/kernel/core/ops/kernel_check.h"
#include "test/support/catch.h"

namespace wam::test {
namespace {

// Sums of R normal numbers are a few times sqrt(R); each of few additions of that size rounds once.
double bound(std::int64_t rows) {
  return 16 * 0x1p-24 * std::sqrt(static_cast<double>(rows)) + 1e-6;
}

at::Tensor sums(const at::Tensor& dy, const at::Tensor& start) {
  at::Tensor out = start.clone();
  add_column_sums(dy, out);
  return out;
}

}  // namespace

TEST_CASE("Column sums on the GPU equal sums in double and repeat bit for bit") {
  if (skipped_without_gpu()) return;
  struct Shape {
    std::int64_t rows, columns;
  };
  const Shape shape = GENERATE(Shape{2000, 3072}, Shape{597, 344}, Shape{1, 8}, Shape{31, 15360},
                               Shape{1000, 9216}, Shape{33, 256});
  const at::ScalarType type = GENERATE(at::kBFloat16, at::kFloat);
  // The middle third of a fused gradient, from its third row on.
  const at::Tensor dy = gpu_normals(1, {shape.rows + 2, 3 * shape.columns}, type)
                            .slice(0, 2)
                            .narrow(1, shape.columns, shape.columns);
  const at::Tensor start = gpu_normals(2, {shape.columns}, at::kFloat);

  at::Tensor expected = wide(start);
  add_column_sums_plain(wide(dy), expected);
  const at::Tensor found = sums(dy, start);
  INFO(shape.rows << " x " << shape.columns << " " << toString(type));
  CHECK((wide(found) - expected).abs().max().item<double>() < bound(shape.rows));
  CHECK(at::equal(sums(dy, start), found));
  CHECK(at::equal(on_other_stream(dy, [&](const at::Tensor& late) { return sums(late, start); }),
                  found));
}

TEST_CASE("Column sums on the GPU reach a bias in parts, and leave the padding alone") {
  if (skipped_without_gpu()) return;
  const at::Tensor dy = gpu_normals(1, {77, 3 * 40}, at::kBFloat16);
  const at::Tensor padded = at::zeros({3, 64}, dy.options().dtype(at::kFloat));
  add_column_sums(dy, padded.narrow(1, 0, 40));
  CHECK(relative_error(padded.narrow(1, 0, 40), wide(dy).sum(at::IntArrayRef{0}).view({3, 40})) <
        1e-6);
  CHECK(padded.narrow(1, 40, 24).abs().max().item<float>() == 0.0F);
}

TEST_CASE("Column sums of no rows on the GPU change nothing") {
  if (skipped_without_gpu()) return;
  const at::Tensor start = gpu_normals(2, {64}, at::kFloat);
  CHECK(at::equal(sums(at::empty({0, 64}, start.options()), start), start));
}

}  // namespace wam::test
