#include <ATen/ops/equal.h>

#include "core/ops/ada_norm/ada_norm.h"
#include "core/ops/ada_norm/ada_norm_plain.h"
#include "test/kernel/core/ops/row_ops.h"
#include "test/support/catch.h"

namespace wam::test {
namespace {

constexpr double kEps = 1e-6;

// Shift and scale are planes 3 and 4 of a table (B, R, 6, D), as in a block.
Modulation planes(const at::Tensor& table_BRGD) {
  return {table_BRGD.select(2, 3), table_BRGD.select(2, 4)};
}

struct Found {
  at::Tensor y, dx, dtable;
  NormStatistics statistics;
};

// The same inputs for the kernel and, in double on the CPU, for its twin.
struct Case {
  Case(const RowCase& c, at::ScalarType element, bool with_residual, double offset)
      : rows(c.rows),
        gpu_rows(rows_for(at::Device(at::kCUDA, 0), c.rows, c.num_rows)),
        type(element),
        x((draws(1, {c.batch, c.rows.tokens, c.width}, element) + offset)
              .to(element)
              .to(at::kDouble)),
        dy(draws(2, {c.batch, c.rows.tokens, c.width}, element)),
        residual(with_residual ? draws(3, {c.batch, c.rows.tokens, c.width}, element)
                               : at::Tensor{}),
        table(draws(4, {c.batch, c.num_rows, 6, c.width}, element)),
        dtable(draws(5, {c.batch, c.num_rows, 6, c.width}, at::kFloat)) {}

  [[nodiscard]] Found kernel() const {
    Found f;
    const at::Tensor gpu_x = narrowed_on_gpu(x, type);
    const Modulation m = planes(on_gpu(table, type));
    f.y = ada_norm_forward(gpu_x, m, gpu_rows, kEps, f.statistics);
    f.dtable = on_gpu(dtable, at::kFloat);
    f.dx = ada_norm_backward(narrowed_on_gpu(dy, type), gpu_x, m, gpu_rows, f.statistics,
                             planes(f.dtable),
                             residual.defined() ? narrowed_on_gpu(residual, type) : residual);
    return f;
  }

  [[nodiscard]] Found twin() const {
    Found f;
    // 1 + scale rounds to the table's type.
    const at::Tensor factor = (table.select(2, 4).to(type) + 1).to(at::kDouble);
    const Modulation m{table.select(2, 3), factor - 1};
    f.y = ada_norm_forward_plain(x, m, rows, kEps, f.statistics);
    f.dtable = dtable.clone();
    f.dx = ada_norm_backward_plain(dy, x, m, rows, f.statistics, planes(f.dtable), residual);
    return f;
  }

  TokenRows rows, gpu_rows;
  at::ScalarType type;
  at::Tensor x, dy, residual, table, dtable;
};

}  // namespace

TEST_CASE("Adaptive layer norm: the kernels equal their twin") {
  if (!gpu_available()) {
    std::puts("SKIPPED: no GPU");
    return;
  }
  for (const auto type : {at::kBFloat16, at::kFloat}) {
    for (const bool with_residual : {false, true}) {
      for (const RowCase& shape : row_cases()) {
        INFO(c10::toString(type) << ", width " << shape.width << ", batch " << shape.batch
                                 << ", residual " << with_residual);
        const Case c(shape, type, with_residual, 0.0);
        const Found found = c.kernel();
        const Found expected = c.twin();
        CHECK(excess(found.statistics.mean, expected.statistics.mean, shape.width) < 1);
        CHECK(excess(found.statistics.rstd, expected.statistics.rstd, shape.width) < 1);
        CHECK(excess(found.y, expected.y, shape.width) < 1);
        CHECK(excess(found.dx, expected.dx, shape.width) < 1);
        CHECK(excess(found.dtable, expected.dtable, shape.rows.tokens) < 1);
        // Other planes of the table are others' sums.
        CHECK(at::equal(found.dtable.narrow(2, 0, 3).cpu().to(at::kDouble),
                        c.dtable.narrow(2, 0, 3)));
      }
    }
  }
}

TEST_CASE("Adaptive layer norm: two runs give the same bits, on any stream") {
  if (!gpu_available()) {
    std::puts("SKIPPED: no GPU");
    return;
  }
  const Case c({40, 264, model_rows(), kModelRows}, at::kBFloat16, true, 0.0);
  const Found first = c.kernel();
  for (int i = 0; i < 3; ++i) {
    Found again;
    on_side_stream([&] { again = c.kernel(); });
    CHECK(at::equal(again.y, first.y));
    CHECK(at::equal(again.dx, first.dx));
    CHECK(at::equal(again.dtable, first.dtable));
    CHECK(at::equal(again.statistics.rstd, first.statistics.rstd));
  }
}

TEST_CASE("Adaptive layer norm: a variance far below the squared mean survives") {
  if (!gpu_available()) {
    std::puts("SKIPPED: no GPU");
    return;
  }
  // fp32 sums of squares around 1e6 would lose several percent of a variance of 1.
  const Case c({2, 3072, model_rows(), kModelRows}, at::kFloat, false, 1000.0);
  const at::Tensor found = c.kernel().y.cpu().to(at::kDouble);
  CHECK((found - c.twin().y).abs().max().item<double>() < 5e-3);
}

TEST_CASE("Adaptive layer norm: no tokens, no work") {
  if (!gpu_available()) {
    std::puts("SKIPPED: no GPU");
    return;
  }
  const Case c({2, 96, {.tokens = 0, .groups = {}}, 3}, at::kBFloat16, true, 0.0);
  const Found found = c.kernel();
  CHECK(found.dx.numel() == 0);
  CHECK(at::equal(found.dtable.cpu().to(at::kDouble), c.dtable));
}

}  // namespace wam::test
