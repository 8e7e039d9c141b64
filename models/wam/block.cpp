#include "models/wam/block.h"

#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include "core/ops/ada_norm/ada_norm.h"
#include "core/ops/attention/attention.h"
#include "core/ops/gated_residual/gated_residual.h"
#include "core/ops/gelu/gelu.h"
#include "core/ops/qk_norm/qk_norm.h"

namespace wam {
namespace {

// The six vectors of each row: (B, R, D) views of a table (B, R, 6, D).
struct Modulations {
  explicit Modulations(const at::Tensor& table_BRGD) : table(table_BRGD) {}
  [[nodiscard]] Modulation before_attention() const { return {row(0), row(1)}; }
  [[nodiscard]] at::Tensor attention_gate() const { return row(2); }
  [[nodiscard]] Modulation before_ffn() const { return {row(3), row(4)}; }
  [[nodiscard]] at::Tensor ffn_gate() const { return row(5); }
  [[nodiscard]] at::Tensor row(std::int64_t i) const { return table.select(2, i); }

  at::Tensor table;
};

at::Tensor in(const TokenRange& range, const at::Tensor& x) {
  return x.narrow(1, range.begin, range.count);
}

// `range` of the whole sequence, in a tensor that starts at token `first`.
TokenRange from(std::int64_t first, const TokenRange& range) {
  return {range.begin - first, range.count};
}

at::Tensor split_heads(const at::Tensor& x_BLD, std::int64_t heads) {
  return x_BLD.unflatten(-1, {heads, -1});
}

QkNorm qk(const Parameter& weight, const BlockPlan& plan) {
  return {.weight = weight, .eps = plan.eps, .num_heads = plan.heads};
}

AttentionOptions attention_options(const BlockPlan& plan,
                                   const at::Tensor& q_BLNK,
                                   const at::Tensor& key_bias) {
  return {.scale = 1.0 / std::sqrt(static_cast<double>(q_BLNK.size(3))),
          .key_bias_M = key_bias,
          .engine = plan.attention};
}

// One context of cross attention: its projections and its key norm.
struct Context {
  const Linear& k;
  const Linear& v;
  const Parameter& norm_k;
  const at::Tensor& tokens_BMD;
  at::Tensor key_bias_M;
};

Context text_context(const BlockParameters& p, const BlockPlan& plan, const BlockInput& in) {
  return {p.cross.k, p.cross.v, p.cross.norm_k, in.text_BMD, plan.text_key_bias_M};
}

Context image_context(const BlockParameters& p, const BlockInput& in) {
  return {p.k_img, p.v_img, p.norm_k_img, in.image_BMD, {}};
}

at::Tensor attend(const Context& c,
                  const BlockPlan& plan,
                  const at::Tensor& q_BLNK,
                  ContextSaved& s) {
  s.k_in = linear_forward(c.tokens_BMD, c.k);
  s.k = qk_norm_forward(s.k_in, qk(c.norm_k, plan), {}, s.rstd);
  s.v = split_heads(linear_forward(c.tokens_BMD, c.v), plan.heads);
  s.out = at::empty(q_BLNK.sizes(), q_BLNK.options());
  s.lse = attention_forward(q_BLNK, s.k, s.v, attention_options(plan, q_BLNK, c.key_bias_M), s.out);
  return s.out.flatten(-2);
}

// Returns the gradient of the context tokens; adds to dq.
at::Tensor attend_backward(const Context& c,
                           const BlockPlan& plan,
                           const at::Tensor& q_BLNK,
                           const ContextSaved& s,
                           const at::Tensor& dout_BLD,
                           at::Tensor& dq_BLNK) {
  const at::Tensor dq = at::empty(q_BLNK.sizes(), q_BLNK.options());
  const at::Tensor dk = at::empty(s.k.sizes(), s.k.options());
  const at::Tensor dv = at::empty(s.v.sizes(), s.v.options());
  attention_backward(split_heads(dout_BLD, plan.heads), q_BLNK, s.k, s.v, s.out, s.lse,
                     attention_options(plan, q_BLNK, c.key_bias_M), {dq, dk, dv});
  dq_BLNK = dq_BLNK.defined() ? dq_BLNK + dq : dq;
  const at::Tensor dk_in = qk_norm_backward(dk, s.k_in, qk(c.norm_k, plan), {}, s.rstd);
  return linear_backward(dk_in, c.tokens_BMD, c.k) +
         linear_backward(dv.flatten(-2), c.tokens_BMD, c.v);
}

// Self attention between its projections: out (B, results, D).
at::Tensor self_attend(const BlockPlan& plan, BlockSaved& s) {
  const at::Tensor out =
      at::empty({s.v.size(0), plan.results.count, plan.heads, s.v.size(3)}, s.v.options());
  const at::Tensor queried = in(from(plan.results.begin, plan.queries), out);
  s.lse = group_attention_forward(plan.calls, attention_options(plan, s.q, {}), plan.queries.begin,
                                  s.q, s.k, s.v, queried);
  if (plan.states.count > 0) {
    in(from(plan.results.begin, plan.states), out).copy_(in(plan.states, s.v));
  }
  return out.flatten(-2);
}

GroupAttentionGradients self_attend_backward(const BlockPlan& plan,
                                             const BlockSaved& s,
                                             const at::Tensor& dout_BLD) {
  const at::Tensor dout = split_heads(dout_BLD, plan.heads);
  const at::Tensor out = split_heads(s.attention, plan.heads);
  const TokenRange queried = from(plan.results.begin, plan.queries);
  auto d =
      group_attention_backward(plan.calls, attention_options(plan, s.q, {}), plan.queries.begin,
                               in(queried, dout), s.q, s.k, s.v, in(queried, out), s.lse);
  if (plan.states.count > 0) {
    in(plan.states, d.dv_BLNK).add_(in(from(plan.results.begin, plan.states), dout));
  }
  return d;
}

at::Tensor modulation_table(const BlockParameters& p, const BlockInput& in) {
  return in.time_BRGD + p.modulation.value.unsqueeze(0);
}

}  // namespace

at::Tensor block_forward(const BlockParameters& p,
                         const BlockPlan& plan,
                         const BlockInput& input,
                         BlockSaved& s) {
  const Modulations m(modulation_table(p, input));
  const at::Tensor& x = input.x_BLD;

  s.u1 = ada_norm_forward(x, m.before_attention(), plan.input_rows, plan.eps, s.norm1);
  s.q_in = linear_forward(in(plan.queries, s.u1), p.self.q);
  s.k_in = linear_forward(s.u1, p.self.k);
  s.v = split_heads(linear_forward(s.u1, p.self.v), plan.heads);
  const at::Tensor query_rotary = plan.rotary.narrow(0, plan.queries.begin, plan.queries.count);
  s.q = qk_norm_forward(s.q_in, qk(p.self.norm_q, plan), query_rotary, s.q_rstd);
  s.k = qk_norm_forward(s.k_in, qk(p.self.norm_k, plan), plan.rotary, s.k_rstd);
  s.attention = self_attend(plan, s);
  s.y1 = linear_forward(s.attention, p.self.o);
  s.x1 = gated_residual_forward(in(plan.results, x), s.y1, m.attention_gate(), plan.result_rows);

  s.u2 = layer_norm_forward(s.x1, p.norm3, plan.eps, s.norm3);
  s.cross_q_in = linear_forward(s.u2, p.cross.q);
  s.cross_q = qk_norm_forward(s.cross_q_in, qk(p.cross.norm_q, plan), {}, s.cross_q_rstd);
  s.cross = attend(text_context(p, plan, input), plan, s.cross_q, s.text) +
            attend(image_context(p, input), plan, s.cross_q, s.image);
  s.x2 = s.x1 + linear_forward(s.cross, p.cross.o);

  s.u3 = ada_norm_forward(s.x2, m.before_ffn(), plan.result_rows, plan.eps, s.norm2);
  s.h = linear_forward(s.u3, p.ffn_up);
  s.g = tanh_gelu_forward(s.h);
  s.y3 = linear_forward(s.g, p.ffn_down);
  return gated_residual_forward(s.x2, s.y3, m.ffn_gate(), plan.result_rows);
}

BlockInput block_backward(const BlockParameters& p,
                          const BlockPlan& plan,
                          const BlockInput& input,
                          const BlockSaved& s,
                          const at::Tensor& dout) {
  const Modulations m(modulation_table(p, input));
  const auto wide = m.table.options().dtype(accumulate_type(m.table.scalar_type()));
  const Modulations dm(at::zeros(m.table.sizes(), wide));
  BlockInput d;

  const at::Tensor dy3 =
      gated_residual_backward(dout, s.y3, m.ffn_gate(), plan.result_rows, dm.ffn_gate());
  const at::Tensor dh = tanh_gelu_backward(linear_backward(dy3, s.g, p.ffn_down), s.h);
  const at::Tensor du3 = linear_backward(dh, s.u3, p.ffn_up);
  const at::Tensor dx2 = dout + ada_norm_backward(du3, s.x2, m.before_ffn(), plan.result_rows,
                                                  s.norm2, dm.before_ffn());

  const at::Tensor dcross = linear_backward(dx2, s.cross, p.cross.o);
  at::Tensor dcross_q;
  d.text_BMD =
      attend_backward(text_context(p, plan, input), plan, s.cross_q, s.text, dcross, dcross_q);
  d.image_BMD =
      attend_backward(image_context(p, input), plan, s.cross_q, s.image, dcross, dcross_q);
  const at::Tensor du2 = linear_backward(
      qk_norm_backward(dcross_q, s.cross_q_in, qk(p.cross.norm_q, plan), {}, s.cross_q_rstd), s.u2,
      p.cross.q);
  const at::Tensor dx1 = dx2 + layer_norm_backward(du2, s.x1, p.norm3, s.norm3);

  const at::Tensor dy1 =
      gated_residual_backward(dx1, s.y1, m.attention_gate(), plan.result_rows, dm.attention_gate());
  const auto da = self_attend_backward(plan, s, linear_backward(dy1, s.attention, p.self.o));
  const at::Tensor query_rotary = plan.rotary.narrow(0, plan.queries.begin, plan.queries.count);
  const at::Tensor dq_in =
      qk_norm_backward(da.dq_BLNK, s.q_in, qk(p.self.norm_q, plan), query_rotary, s.q_rstd);
  const at::Tensor dk_in =
      qk_norm_backward(da.dk_BLNK, s.k_in, qk(p.self.norm_k, plan), plan.rotary, s.k_rstd);
  const at::Tensor dv = da.dv_BLNK.flatten(-2).to(dout.scalar_type());
  at::Tensor du1 = linear_backward(dk_in, s.u1, p.self.k) + linear_backward(dv, s.u1, p.self.v);
  in(plan.queries, du1).add_(linear_backward(dq_in, in(plan.queries, s.u1), p.self.q));

  d.x_BLD = ada_norm_backward(du1, input.x_BLD, m.before_attention(), plan.input_rows, s.norm1,
                              dm.before_attention());
  in(plan.results, d.x_BLD).add_(dx1);
  d.time_BRGD = dm.table.to(m.table.scalar_type());
  if (p.modulation.gradient.defined()) {
    at::Tensor gradient = p.modulation.gradient;
    gradient.add_(dm.table.sum(at::IntArrayRef{0, 1}));
  }
  return d;
}

BlockSaved keep(RecomputePolicy policy, BlockSaved saved) {
  return policy == RecomputePolicy::kNone ? std::move(saved) : BlockSaved{};
}

BlockSaved rebuild(RecomputePolicy policy,
                   BlockSaved kept,
                   const BlockParameters& p,
                   const BlockPlan& plan,
                   const BlockInput& in) {
  if (policy == RecomputePolicy::kFull) block_forward(p, plan, in, kept);
  return kept;
}

std::vector<at::Tensor> BlockSaved::tensors() const {
  std::vector<at::Tensor> out = {
      norm1.mean, norm1.rstd, u1,         q_in,       k_in,       q_rstd,
      k_rstd,     q,          k,          v,          attention,  y1,
      x1,         norm3.mean, norm3.rstd, u2,         cross_q_in, cross_q_rstd,
      cross_q,    cross,      x2,         norm2.mean, norm2.rstd, u3,
      h,          g,          y3};
  for (const ContextSaved& c : {text, image}) {
    out.insert(out.end(), {c.k_in, c.rstd, c.k, c.v, c.out, c.lse});
  }
  out.insert(out.end(), lse.begin(), lse.end());
  std::erase_if(out, [](const at::Tensor& t) { return !t.defined(); });
  return out;
}

}  // namespace wam
