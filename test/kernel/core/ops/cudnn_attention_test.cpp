#include "core/ops/attention/cudnn_attention.h"

#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tensor.h>

#include "core/cuda/device.h"
#include "core/random/counter.h"
#include "test/support/catch.h"

namespace wam {
namespace {

at::Tensor draws(std::uint64_t which, const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  std::vector<float> values(static_cast<std::size_t>(count));
  CounterStream(7, Purpose::kSampleWorld, which).normals(values.data(), count);
  return at::tensor(values).reshape(shape).to(at::kCUDA, at::kBFloat16);
}

double relative_error(const at::Tensor& found, const at::Tensor& expected) {
  const at::Tensor e = expected.to(at::kDouble);
  return ((found.to(at::kDouble) - e).abs().max() / e.abs().max()).item<double>();
}

struct Reference {
  at::Tensor out, lse, dq, dk, dv;
};

// Plain softmax attention in float64 with its backward written out, (B, L, N, K) tensors.
Reference reference(const at::Tensor& q_in,
                    const at::Tensor& k_in,
                    const at::Tensor& v_in,
                    const at::Tensor& grad_in,
                    double scale) {
  const auto heads_first = [](const at::Tensor& t) { return t.to(at::kDouble).transpose(1, 2); };
  const at::Tensor q = heads_first(q_in);
  const at::Tensor k = heads_first(k_in);
  const at::Tensor v = heads_first(v_in);
  const at::Tensor grad = heads_first(grad_in);
  const at::Tensor scores = q.matmul(k.transpose(2, 3)) * scale;
  const at::Tensor p = at::softmax(scores, -1);
  Reference r;
  r.out = p.matmul(v).transpose(1, 2);
  r.lse = at::logsumexp(scores, {-1}, true);
  r.dv = p.transpose(2, 3).matmul(grad).transpose(1, 2);
  const at::Tensor dp = grad.matmul(v.transpose(2, 3));
  const at::Tensor ds = p * (dp - (dp * p).sum(-1, true)) * scale;
  r.dq = ds.matmul(k).transpose(1, 2);
  r.dk = ds.transpose(2, 3).matmul(q).transpose(1, 2);
  return r;
}

}  // namespace

TEST_CASE("CudnnAttention equals plain softmax attention and repeats bit for bit") {
  if (!gpu_available()) {
    std::puts("SKIPPED: no GPU");
    return;
  }
  struct Shape {
    std::int64_t batch, queries, keys, heads, width;
  };
  const Shape shape = GENERATE(Shape{2, 124, 475, 6, 128}, Shape{1, 50, 50, 24, 128},
                               Shape{3, 37, 1, 2, 64}, Shape{2, 597, 769, 3, 128});
  CudnnAttention attention(/*deterministic=*/true);
  // Queries and keys as slices of longer sequences, as the block calls it.
  const at::Tensor q =
      draws(1, {shape.batch, shape.queries + 9, shape.heads, shape.width}).slice(1, 9);
  const at::Tensor kv = draws(2, {shape.batch, shape.keys, 2, shape.heads, shape.width});
  const at::Tensor k = kv.select(2, 0);
  const at::Tensor v = kv.select(2, 1);
  const at::Tensor grad = draws(3, {shape.batch, shape.queries, shape.heads, shape.width});
  const double scale = 1.0 / std::sqrt(static_cast<double>(shape.width));

  AttentionOptions options;
  options.scale = scale;
  const at::Tensor out = at::empty_like(grad);
  const at::Tensor lse =
      at::empty({shape.batch, shape.heads, shape.queries}, grad.options().dtype(at::kFloat));
  attention.forward(q, k, v, options, out, lse);
  const auto run_backward = [&] {
    AttentionGradients g{at::empty_like(grad), at::empty_like(kv).select(2, 0),
                         at::empty_like(kv).select(2, 1)};
    attention.backward(grad, q, k, v, out, lse, options, g);
    return g;
  };
  const AttentionGradients grads = run_backward();

  // bf16 keeps 8 bits; p and ds are rounded to it inside, sums are in fp32.
  constexpr double kLimit = 2e-2;
  const Reference r = reference(q, k, v, grad, scale);
  CHECK(relative_error(out, r.out) < kLimit);
  CHECK(relative_error(lse.unsqueeze(-1), r.lse) < 1e-3);
  CHECK(relative_error(grads.dv_BMNK, r.dv) < kLimit);
  if (shape.keys > 1) {
    CHECK(relative_error(grads.dq_BLNK, r.dq) < kLimit);
    CHECK(relative_error(grads.dk_BMNK, r.dk) < kLimit);
  }
  for (int i = 0; i < 5; ++i) {
    const AttentionGradients again = run_backward();
    CHECK(at::equal(again.dq_BLNK, grads.dq_BLNK));
    CHECK(at::equal(again.dk_BMNK, grads.dk_BMNK));
    CHECK(at::equal(again.dv_BMNK, grads.dv_BMNK));
  }
}

}  // namespace wam
