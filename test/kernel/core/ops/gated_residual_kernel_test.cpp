#include <ATen/ops/equal.h>

#include "core/ops/gated_residual/gated_residual.h"
#include "core/ops/gated_residual/gated_residual_plain.h"
#include "test/kernel/core/ops/row_ops.h"
#include "test/support/catch.h"

namespace wam::test {
namespace {

// The gate is plane 2 of a table (B, R, 6, D), as in a block.
at::Tensor plane(const at::Tensor& table_BRGD) {
  return table_BRGD.select(2, 2);
}

struct Found {
  at::Tensor out, dy, dtable;
};

struct Case {
  Case(const RowCase& c, at::ScalarType element)
      : rows(c.rows),
        gpu_rows(rows_for(at::Device(at::kCUDA, 0), c.rows, c.num_rows)),
        type(element),
        x(draws(1, {c.batch, c.rows.tokens, c.width}, element)),
        y(draws(2, {c.batch, c.rows.tokens, c.width}, element)),
        dout(draws(3, {c.batch, c.rows.tokens, c.width}, element)),
        table(draws(4, {c.batch, c.num_rows, 6, c.width}, element)),
        dtable(draws(5, {c.batch, c.num_rows, 6, c.width}, at::kFloat)) {}

  [[nodiscard]] Found kernel() const {
    Found f;
    const at::Tensor gate = plane(on_gpu(table, type));
    const at::Tensor gpu_y = narrowed_on_gpu(y, type);
    f.dtable = on_gpu(dtable, at::kFloat);
    f.out = gated_residual_forward(narrowed_on_gpu(x, type), gpu_y, gate, gpu_rows);
    f.dy = gated_residual_backward(narrowed_on_gpu(dout, type), gpu_y, gate, gpu_rows,
                                   plane(f.dtable));
    return f;
  }

  // Tokens in the kernel's type, which rounds where it says; sums in double.
  [[nodiscard]] Found twin() const {
    Found f;
    const at::Tensor gate = plane(table);
    f.dtable = dtable.clone();
    f.out = gated_residual_forward_plain(x.to(type), y.to(type), gate.to(type), rows);
    f.dy = gated_residual_backward_plain(dout, y, gate, rows, plane(f.dtable)).to(type);
    return f;
  }

  TokenRows rows, gpu_rows;
  at::ScalarType type;
  at::Tensor x, y, dout, table, dtable;
};

}  // namespace

TEST_CASE("Gated residual: the kernels equal their twin, tokens bit for bit") {
  if (!gpu_available()) {
    std::puts("SKIPPED: no GPU");
    return;
  }
  for (const auto type : {at::kBFloat16, at::kFloat}) {
    for (const RowCase& shape : row_cases()) {
      INFO(c10::toString(type) << ", width " << shape.width << ", batch " << shape.batch);
      const Case c(shape, type);
      const Found found = c.kernel();
      const Found expected = c.twin();
      CHECK(at::equal(found.out.cpu(), expected.out));
      CHECK(at::equal(found.dy.cpu(), expected.dy));
      CHECK(excess(found.dtable, expected.dtable, shape.rows.tokens) < 1);
      CHECK(
          at::equal(found.dtable.narrow(2, 3, 3).cpu().to(at::kDouble), c.dtable.narrow(2, 3, 3)));
    }
  }
}

TEST_CASE("Gated residual: two runs give the same bits, on any stream") {
  if (!gpu_available()) {
    std::puts("SKIPPED: no GPU");
    return;
  }
  const Case c({40, 264, model_rows(), kModelRows}, at::kBFloat16);
  const Found first = c.kernel();
  for (int i = 0; i < 3; ++i) {
    Found again;
    on_side_stream([&] { again = c.kernel(); });
    CHECK(at::equal(again.out, first.out));
    CHECK(at::equal(again.dy, first.dy));
    CHECK(at::equal(again.dtable, first.dtable));
  }
}

}  // namespace wam::test
