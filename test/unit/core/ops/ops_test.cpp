// Each operator against a formula of its own and LibTorch's autograd, in double.

#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/autograd.h>

#include "core/ops/ada_norm/ada_norm.h"
#include "core/ops/attention/attention.h"
#include "core/ops/attention/attention_plain.h"
#include "core/ops/gated_residual/gated_residual.h"
#include "core/ops/gelu/gelu.h"
#include "core/ops/linear/linear.h"
#include "core/ops/qk_norm/qk_norm.h"
#include "core/random/counter.h"
#include "test/support/catch.h"

namespace wam::test {
namespace {

at::Tensor random(const std::vector<std::int64_t>& shape, std::uint64_t key) {
  at::Tensor out = at::empty(shape, at::kFloat);
  CounterStream(1, Purpose::kInitialise, key).normals(out.mutable_data_ptr<float>(), out.numel());
  return out.to(at::kDouble);
}

at::Tensor leaf(const at::Tensor& t) {
  return t.detach().clone().requires_grad_();
}

double error(const at::Tensor& found, const at::Tensor& expected) {
  return (found - expected).abs().max().item<double>() / expected.abs().max().item<double>();
}

Parameter parameter(const at::Tensor& value) {
  return {.value = value, .gradient = at::zeros(value.sizes(), value.options())};
}

// Two groups of three tokens with a row each, and two tokens with rows of their own.
TokenRows example_rows() {
  return {.tokens = 8,
          .groups = {{.begin = 0, .outer = 2, .outer_stride = 3, .inner = 3, .row_outer_stride = 1},
                     {.begin = 6, .inner = 2, .row_begin = 1, .row_inner_stride = 1}}};
}

at::Tensor expand(const at::Tensor& table_BRD, const TokenRows& rows) {
  return table_BRD.index_select(1, row_of_token(rows));
}

}  // namespace

TEST_CASE("Token rows: place, row and sum of every token") {
  const TokenRows rows = example_rows();
  CHECK(at::equal(row_of_token(rows), at::tensor({0, 0, 0, 1, 1, 1, 1, 2}, at::kLong)));
  const at::Tensor x = at::arange(8, at::kDouble).view({1, 8, 1});
  const at::Tensor table = at::zeros({1, 3, 1}, at::kDouble);
  for (const TokenGroup& group : rows.groups) {
    add_to_group_rows(table, group, group_tokens(x, group));
  }
  // 0+1+2 | 3+4+5 and token 6 | token 7
  CHECK(at::equal(table.flatten(), at::tensor({3.0, 18.0, 7.0}, at::kDouble)));
}

TEST_CASE("Linear backward adds to the gradients") {
  const Linear linear{.weight = parameter(random({4, 3}, 1)), .bias = parameter(random({4}, 2))};
  const at::Tensor x = leaf(random({2, 5, 3}, 3));
  const at::Tensor w = leaf(linear.weight.value);
  const at::Tensor b = leaf(linear.bias.value);
  const at::Tensor dy = random({2, 5, 4}, 4);
  const at::Tensor y = x.matmul(w.t()) + b;
  torch::autograd::backward({y}, {dy});

  CHECK(error(linear_forward(x.detach(), linear), y.detach()) < 1e-14);
  for (const int calls : {1, 2}) {
    CHECK(error(linear_backward(dy, x.detach(), linear), x.grad()) < 1e-14);
    CHECK(error(linear.weight.gradient, w.grad() * calls) < 1e-14);
    CHECK(error(linear.bias.gradient, b.grad() * calls) < 1e-14);
  }
}

TEST_CASE("A weight gradient of bf16 values keeps float32 precision") {
  const at::Tensor x = random({1, 600, 3}, 1).to(at::kBFloat16);
  const at::Tensor dy = random({1, 600, 4}, 2).to(at::kBFloat16);
  const Linear linear{
      .weight = {random({4, 3}, 3).to(at::kBFloat16), at::zeros({4, 3}, at::kFloat)},
      .bias = {random({4}, 4).to(at::kBFloat16), at::zeros({4}, at::kFloat)}};
  const at::Tensor dx = linear_backward(dy, x, linear);
  const at::Tensor wide_dy = dy[0].to(at::kDouble);
  CHECK(dx.scalar_type() == at::kBFloat16);
  CHECK(error(linear.weight.gradient, wide_dy.t().mm(x[0].to(at::kDouble))) < 1e-5);
  CHECK(error(linear.bias.gradient, wide_dy.sum(at::IntArrayRef{0})) < 1e-5);
}

TEST_CASE("Frozen parameters get no gradient") {
  const Linear linear{.weight = {random({4, 3}, 1), {}}, .bias = {random({4}, 2), {}}};
  CHECK(linear_backward(random({2, 4}, 3), random({2, 3}, 4), linear).sizes() ==
        at::IntArrayRef{2, 3});
}

TEST_CASE("Adaptive layer norm and its backward") {
  const TokenRows rows = example_rows();
  const at::Tensor x = leaf(random({2, 8, 6}, 1));
  const at::Tensor shift = leaf(random({2, 3, 6}, 2));
  const at::Tensor scale = leaf(random({2, 3, 6}, 3));
  const at::Tensor dy = random({2, 8, 6}, 4);
  const at::Tensor y =
      at::layer_norm(x, {6}, {}, {}, 1e-6) * (1 + expand(scale, rows)) + expand(shift, rows);
  torch::autograd::backward({y}, {dy});

  const Modulation m{shift.detach(), scale.detach()};
  const Modulation dm{at::zeros({2, 3, 6}, at::kDouble), at::zeros({2, 3, 6}, at::kDouble)};
  NormStatistics statistics;
  CHECK(error(ada_norm_forward(x.detach(), m, rows, 1e-6, statistics), y.detach()) < 1e-13);
  CHECK(error(ada_norm_backward(dy, x.detach(), m, rows, statistics, dm), x.grad()) < 1e-12);
  CHECK(error(dm.shift_BRD, shift.grad()) < 1e-13);
  CHECK(error(dm.scale_BRD, scale.grad()) < 1e-13);
  const at::Tensor residual = random({2, 8, 6}, 5);
  const at::Tensor sum = ada_norm_backward(dy, x.detach(), m, rows, statistics, dm, residual);
  CHECK(error(sum, x.grad() + residual) < 1e-12);
}

TEST_CASE("Affine layer norm and its backward") {
  const at::Tensor x = leaf(random({2, 5, 6}, 1));
  const at::Tensor w = leaf(random({6}, 2));
  const at::Tensor b = leaf(random({6}, 3));
  const at::Tensor dy = random({2, 5, 6}, 4);
  const at::Tensor y = at::layer_norm(x, {6}, w, b, 1e-6);
  torch::autograd::backward({y}, {dy});

  const LayerNorm norm{parameter(w.detach()), parameter(b.detach())};
  NormStatistics statistics;
  CHECK(error(layer_norm_forward(x.detach(), norm, 1e-6, statistics), y.detach()) < 1e-13);
  CHECK(error(layer_norm_backward(dy, x.detach(), norm, statistics), x.grad()) < 1e-12);
  CHECK(error(norm.weight.gradient, w.grad()) < 1e-13);
  CHECK(error(norm.bias.gradient, b.grad()) < 1e-13);
  const at::Tensor residual = random({2, 5, 6}, 5);
  const at::Tensor sum = layer_norm_backward(dy, x.detach(), norm, statistics, residual);
  CHECK(error(sum, x.grad() + residual) < 1e-12);
}

TEST_CASE("q/k norm spans the whole width, then heads are rotated by adjacent pairs") {
  const at::Tensor x = leaf(random({2, 5, 8}, 1));
  const at::Tensor w = leaf(random({8}, 2));
  const at::Tensor dy = random({2, 5, 2, 4}, 3);
  const at::Tensor angle = random({5, 2}, 4);
  const at::Tensor rotary = at::stack({angle.cos(), angle.sin()}, -1);
  const at::Tensor z =
      (x / (x.square().mean(at::IntArrayRef{-1}, true) + 1e-6).sqrt() * w).unflatten(-1, {2, 4});
  const at::Tensor c = angle.cos().unsqueeze(1);
  const at::Tensor s = angle.sin().unsqueeze(1);
  const at::Tensor even = z.slice(-1, 0, 4, 2);
  const at::Tensor odd = z.slice(-1, 1, 4, 2);
  const at::Tensor y = at::stack({even * c - odd * s, even * s + odd * c}, -1).flatten(-2);
  torch::autograd::backward({y}, {dy});

  const QkNorm norm{.weight = parameter(w.detach()), .eps = 1e-6, .num_heads = 2};
  at::Tensor rstd;
  CHECK(error(qk_norm_forward(x.detach(), norm, rotary, rstd), y.detach()) < 1e-13);
  CHECK(error(qk_norm_backward(dy, x.detach(), norm, rotary, rstd), x.grad()) < 1e-12);
  CHECK(error(norm.weight.gradient, w.grad()) < 1e-13);
}

TEST_CASE("Gated residual and its backward") {
  const TokenRows rows = example_rows();
  const at::Tensor x = random({2, 8, 6}, 1);
  const at::Tensor y = leaf(random({2, 8, 6}, 2));
  const at::Tensor gate = leaf(random({2, 3, 6}, 3));
  const at::Tensor dout = random({2, 8, 6}, 4);
  const at::Tensor out = x + y * expand(gate, rows);
  torch::autograd::backward({out}, {dout});

  const at::Tensor dgate = at::zeros({2, 3, 6}, at::kDouble);
  CHECK(error(gated_residual_forward(x, y.detach(), gate.detach(), rows), out.detach()) < 1e-14);
  CHECK(error(gated_residual_backward(dout, y.detach(), gate.detach(), rows, dgate), y.grad()) <
        1e-14);
  CHECK(error(dgate, gate.grad()) < 1e-13);
}

TEST_CASE("GELU is the tanh form") {
  // 0.5 * 1 * (1 + tanh(sqrt(2/pi) * 1.044715)) = 0.841192; the erf form gives 0.841345.
  CHECK(tanh_gelu_forward(at::full({1}, 1.0, at::kDouble)).item<double>() ==
        Approx(0.8411919906).epsilon(1e-9));
  const at::Tensor x = leaf(random({7}, 1));
  const at::Tensor dy = random({7}, 2);
  torch::autograd::backward({at::gelu(x, "tanh")}, {dy});
  CHECK(error(tanh_gelu_backward(dy, x.detach()), x.grad()) < 1e-14);
}

namespace {

at::Tensor empty_lse(const at::Tensor& q_BLNK) {
  return at::empty({q_BLNK.size(0), q_BLNK.size(2), q_BLNK.size(1)}, q_BLNK.options());
}

struct AttentionCase {
  at::Tensor q, k, v, dout;
  AttentionOptions options;

  // Softmax and autograd. Order: out, dq, dk, dv.
  [[nodiscard]] std::vector<at::Tensor> expected() const {
    const at::Tensor ql = leaf(q), kl = leaf(k), vl = leaf(v);
    at::Tensor s = ql.transpose(1, 2).matmul(kl.permute({0, 2, 3, 1})) * options.scale;
    if (options.key_bias_M.defined()) s = s + options.key_bias_M;
    const at::Tensor out = s.softmax(-1).matmul(vl.transpose(1, 2)).transpose(1, 2);
    torch::autograd::backward({out}, {dout});
    return {out.detach(), ql.grad(), kl.grad(), vl.grad()};
  }

  [[nodiscard]] std::vector<at::Tensor> found(std::int64_t score_elements) const {
    const at::Tensor out = at::empty(q.sizes(), q.options());
    const at::Tensor lse = empty_lse(q);
    attention_forward_plain(q, k, v, options, out, lse, score_elements);
    const AttentionGradients d{at::empty(q.sizes(), q.options()), at::empty(k.sizes(), k.options()),
                               at::empty(v.sizes(), v.options())};
    attention_backward_plain(dout, q, k, v, out, lse, options, d, score_elements);
    return {out, d.dq_BLNK, d.dk_BMNK, d.dv_BMNK};
  }
};

AttentionCase attention_case() {
  // Narrowed views: strides that are not those of a dense tensor.
  return {.q = random({2, 9, 3, 4}, 1).narrow(1, 2, 5),
          .k = random({2, 8, 3, 4}, 2).narrow(1, 1, 6),
          .v = random({2, 8, 3, 4}, 3).narrow(1, 0, 6),
          .dout = random({2, 5, 3, 4}, 4),
          .options = {.scale = 0.5, .key_bias_M = {}}};
}

}  // namespace

TEST_CASE("Attention and its backward, whole or in pieces of heads and queries") {
  AttentionCase c = attention_case();
  for (const bool bias : {false, true}) {
    if (bias) c.options.key_bias_M = random({6}, 5);
    const auto expected = c.expected();
    // All scores at once, one head at a time, two queries at a time, one score.
    for (const std::int64_t score_elements : {1000, 60, 24, 1}) {
      const auto found = c.found(score_elements);
      for (std::size_t i = 0; i < 4; ++i) {
        INFO("result " << i << ", " << score_elements << " scores, bias " << bias);
        CHECK(error(found[i], expected[i]) < 1e-12);
      }
    }
  }
}

TEST_CASE("A key with bias log n stands for n equal keys") {
  AttentionCase c = attention_case();
  const auto repeated = [](const at::Tensor& x) {
    return at::cat({x, x.narrow(1, 5, 1), x.narrow(1, 5, 1)}, 1);
  };
  AttentionCase three = c;
  three.k = repeated(c.k);
  three.v = repeated(c.v);
  c.options.key_bias_M = at::zeros({6}, at::kDouble);
  c.options.key_bias_M[5] = std::log(3.0);
  const auto found = c.found(1000);
  const auto expected = three.found(1000);
  CHECK(error(found[0], expected[0]) < 1e-13);
  CHECK(error(found[1], expected[1]) < 1e-13);
  // The one key has the gradient of the three together.
  CHECK(error(found[2].select(1, 5), expected[2].narrow(1, 5, 3).sum(at::IntArrayRef{1})) < 1e-12);
  CHECK(error(found[3].select(1, 5), expected[3].narrow(1, 5, 3).sum(at::IntArrayRef{1})) < 1e-12);
}

TEST_CASE("Attention writes into strided views, and the log-sum-exp") {
  const AttentionCase c = attention_case();
  const at::Tensor wide = at::full({2, 9, 3, 4}, -7.0, at::kDouble);
  const at::Tensor lse = empty_lse(c.q);
  attention_forward(c.q, c.k, c.v, c.options, wide.narrow(1, 2, 5), lse);
  const at::Tensor s = c.q.transpose(1, 2).matmul(c.k.permute({0, 2, 3, 1})) * c.options.scale;
  CHECK(error(lse, s.logsumexp(at::IntArrayRef{-1})) < 1e-14);
  CHECK(wide.narrow(1, 0, 2).max().item<double>() == -7.0);
  CHECK(error(wide.narrow(1, 2, 5), c.expected()[0]) < 1e-12);
}

TEST_CASE("bf16 operators round once") {
  const at::Tensor x = random({1, 8, 64}, 1).to(at::kBFloat16);
  const LayerNorm norm{parameter(random({64}, 2).to(at::kBFloat16)),
                       parameter(random({64}, 3).to(at::kBFloat16))};
  NormStatistics statistics;
  const at::Tensor y = layer_norm_forward(x, norm, 1e-6, statistics);
  const at::Tensor exact =
      at::layer_norm(x.to(at::kDouble), {64}, norm.weight.value.to(at::kDouble),
                     norm.bias.value.to(at::kDouble), 1e-6);
  CHECK(statistics.rstd.scalar_type() == at::kFloat);
  // Half a unit in the last place of bf16 is 2^-8 of the value.
  CHECK(at::allclose(y.to(at::kDouble), exact, 0.0039063, 1e-6));
}

}  // namespace wam::test
