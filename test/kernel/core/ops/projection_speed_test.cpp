// Bytes a second of the kernels around the projections, at the shapes of the models:
// kernel_core_ops "[speed]". What fits into the 50 MB of L2 (1,000 tokens) can be faster than
// memory.

#include <cstdio>

#include <ATen/ops/zeros.h>

#include "core/ops/column_sum/column_sum.h"
#include "core/ops/gelu/gelu.h"
#include "core/ops/gelu/gelu_plain.h"
#include "core/ops/qk_norm/qk_norm.h"
#include "test/kernel/core/ops/kernel_check.h"
#include "test/kernel/core/ops/speed.h"
#include "test/support/catch.h"

namespace wam::test {
namespace {

at::TensorOptions gpu(at::ScalarType type) {
  return at::TensorOptions(at::Device(at::kCUDA, 0)).dtype(type);
}

at::Tensor filled(const std::vector<std::int64_t>& shape, at::ScalarType type = at::kBFloat16) {
  return at::empty(shape, gpu(type)).normal_();
}

struct Row {
  GraphPool& pool;
  std::int64_t tokens, width;

  // Microseconds of one `work`, without the host's share; bytes it has to move, of all tokens.
  void operator()(const char* name,
                  std::int64_t bytes_per_element,
                  const std::function<void()>& work) const {
    const double us = microseconds(pool, work);
    const auto bytes = static_cast<double>(bytes_per_element * tokens * width);
    std::printf("%-28s %5d x %5d  %7.1f us  %5.2f TB/s\n", name, static_cast<int>(tokens),
                static_cast<int>(width), us, bytes / us * 1e-6);
  }
};

void measure_qk_norm(GraphPool& pool, std::int64_t batch, std::int64_t tokens, std::int64_t width) {
  const std::int64_t heads = width / 128;
  const auto third = [&](const at::Tensor& fused) { return fused.narrow(2, width, width); };
  const at::Tensor x = third(filled({batch, tokens, 3 * width}));
  const at::Tensor dx = third(filled({batch, tokens, 3 * width}));
  const at::Tensor dq = filled({batch, tokens, heads, 128});
  const at::Tensor dk = filled({batch, tokens, heads, 128}, at::kFloat);
  const at::Tensor rotary = filled({tokens, 64, 2}, at::kFloat);
  const QkNorm norm{.weight = {filled({width}), at::zeros({width}, gpu(at::kFloat))},
                    .eps = 1e-6,
                    .num_heads = heads};
  at::Tensor rstd;
  qk_norm_forward(x, norm, rotary, rstd);
  const Row row{pool, batch * tokens, width};
  row("qk_norm forward", 4, [&] {
    at::Tensor own;
    qk_norm_forward(x, norm, rotary, own);
  });
  row("qk_norm forward, no rotary", 4, [&] {
    at::Tensor own;
    qk_norm_forward(x, norm, {}, own);
  });
  row("qk_norm backward", 6, [&] { qk_norm_backward(dq, x, norm, rotary, rstd, dx); });
  row("qk_norm backward, fp32 dy", 8, [&] { qk_norm_backward(dk, x, norm, rotary, rstd, dx); });
}

void measure_ffn(GraphPool& pool, std::int64_t tokens, std::int64_t width) {
  const at::Tensor h = filled({tokens, width});
  const at::Tensor dg = filled({tokens, width});
  const at::Tensor gradient = at::zeros({width}, gpu(at::kFloat));
  const Row row{pool, tokens, width};
  row("gelu forward", 4, [&] { tanh_gelu_forward(h); });
  row("  plain", 4, [&] { tanh_gelu_forward_plain(h); });
  row("gelu backward", 6, [&] { tanh_gelu_backward(dg, h); });
  row("  and bias gradient", 6, [&] { tanh_gelu_backward(dg, h, gradient); });
  row("  plain", 6, [&] { tanh_gelu_backward_plain(dg, h, {}); });
}

void measure_column_sum(GraphPool& pool, std::int64_t tokens, std::int64_t width) {
  const at::Tensor dy = filled({tokens, width});
  const at::Tensor gradient = at::zeros({width}, gpu(at::kFloat));
  Row{pool, tokens, width}("column sum", 2, [&] { add_column_sums(dy, gradient); });
}

}  // namespace

TEST_CASE("Speed of the kernels around the projections", "[.speed]") {
  if (skipped_without_gpu()) return;
  GraphPool pool(at::Device(at::kCUDA, 0));
  for (const std::int64_t batch : {1, 8, 32}) measure_qk_norm(pool, batch, 1000, 3072);
  measure_qk_norm(pool, 1, 16000, 5120);
  for (const std::int64_t tokens : {1000, 8000, 32000}) measure_ffn(pool, tokens, 14336);
  measure_ffn(pool, 16000, 13824);
  for (const std::int64_t tokens : {1000, 8000, 32000}) {
    measure_column_sum(pool, tokens, 3072);
    measure_column_sum(pool, tokens, 9216);
  }
  measure_column_sum(pool, 16000, 5120);
  measure_column_sum(pool, 16000, 15360);
}

}  // namespace wam::test
