// Bytes a second of the kernels over tokens with rows, at the shapes of the models:
// kernel_core_ops "[speed]".

#include <cstdio>

#include <ATen/ops/zeros.h>

#include "core/ops/ada_norm/ada_norm.h"
#include "core/ops/gated_residual/gated_residual.h"
#include "core/ops/layer_norm/layer_norm.h"
#include "test/kernel/core/ops/row_ops.h"
#include "test/kernel/core/ops/speed.h"
#include "test/support/catch.h"

namespace wam::test {
namespace {

constexpr at::DeviceType kGpu = at::kCUDA;

// A sequence of four blocks with actions.
TokenRows sequence(std::int64_t frame_tokens) {
  const std::int64_t block = 2 * frame_tokens + 24;
  const std::int64_t clean = 9 * frame_tokens;
  return {.tokens = clean + frame_tokens + 4 * block + 4,
          .groups = {{.inner = clean},
                     {.begin = clean, .inner = frame_tokens, .row_begin = 1},
                     {.begin = clean + frame_tokens,
                      .outer = 4,
                      .outer_stride = block,
                      .inner = block,
                      .row_begin = 2,
                      .row_outer_stride = 1},
                     {.begin = clean + frame_tokens + 4 * block,
                      .outer = 4,
                      .outer_stride = 1,
                      .inner = 1,
                      .row_begin = 2,
                      .row_outer_stride = 1}}};
}

struct Inputs {
  Inputs(std::int64_t batch, std::int64_t frame_tokens, std::int64_t width)
      : rows(rows_for(at::Device(kGpu, 0), sequence(frame_tokens), 6)) {
    const auto bf16 = at::TensorOptions(at::Device(kGpu, 0)).dtype(at::kBFloat16);
    x = at::zeros({batch, rows.tokens, width}, bf16);
    dy = at::zeros({batch, rows.tokens, width}, bf16);
    residual = at::zeros({batch, rows.tokens, width}, bf16);
    table = at::zeros({batch, 6, 6, width}, bf16);
    dtable = at::zeros({batch, 6, 6, width}, bf16.dtype(at::kFloat));
    const auto parameter = [&] {
      return Parameter{at::zeros({width}, bf16), at::zeros({width}, bf16.dtype(at::kFloat))};
    };
    norm = {parameter(), parameter()};
  }

  TokenRows rows;
  at::Tensor x, dy, residual, table, dtable;
  LayerNorm norm;
};

void measure(GraphPool& pool, std::int64_t batch, std::int64_t frame_tokens, std::int64_t width) {
  const Inputs in(batch, frame_tokens, width);
  const Modulation m{in.table.select(2, 0), in.table.select(2, 1)};
  const Modulation dm{in.dtable.select(2, 0), in.dtable.select(2, 1)};
  const at::Tensor gate = in.table.select(2, 2);
  NormStatistics s;
  ada_norm_forward(in.x, m, in.rows, 1e-6, s);
  const auto row = [&](const char* name, int passes, const std::function<void()>& work) {
    const double us = microseconds(pool, work);
    const double bytes = passes * static_cast<double>(in.x.nbytes());
    std::printf("%-24s %2d x %5d x %4d  %7.1f us  %5.2f TB/s\n", name, static_cast<int>(batch),
                static_cast<int>(in.rows.tokens), static_cast<int>(width), us, bytes / us * 1e-6);
  };
  row("ada_norm forward", 2, [&] {
    NormStatistics own;
    ada_norm_forward(in.x, m, in.rows, 1e-6, own);
  });
  row("ada_norm backward", 3, [&] { ada_norm_backward(in.dy, in.x, m, in.rows, s, dm); });
  row("  with residual", 4,
      [&] { ada_norm_backward(in.dy, in.x, m, in.rows, s, dm, in.residual); });
  row("layer_norm forward", 2, [&] {
    NormStatistics own;
    layer_norm_forward(in.x, in.norm, 1e-6, own);
  });
  row("layer_norm backward", 3, [&] { layer_norm_backward(in.dy, in.x, in.norm, s); });
  row("  with residual", 4, [&] { layer_norm_backward(in.dy, in.x, in.norm, s, in.residual); });
  row("gated_residual forward", 3, [&] { gated_residual_forward(in.x, in.dy, gate, in.rows); });
  row("gated_residual backward", 3,
      [&] { gated_residual_backward(in.dy, in.x, gate, in.rows, in.dtable.select(2, 2)); });
}

}  // namespace

TEST_CASE("Speed of the kernels over tokens with rows", "[.speed]") {
  if (!gpu_available()) {
    std::puts("SKIPPED: no GPU");
    return;
  }
  GraphPool pool(at::Device(kGpu, 0));
  for (const std::int64_t batch : {1, 8, 32}) measure(pool, batch, 50, 3072);
  measure(pool, 1, 880, 5120);
}

}  // namespace wam::test
