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

at::TensorOptions statistics_of(const at::Tensor& x) {
  return x.options().dtype(accumulate_type(x.scalar_type()));
}

QkNorm qk(const Parameter& weight, const BlockPlan& plan) {
  return {.weight = weight, .eps = plan.eps, .num_heads = plan.heads};
}

AttentionOptions attention_options(const BlockPlan& plan,
                                   const at::Tensor& q_BLNK,
                                   const at::Tensor& key_bias) {
  return {.scale = 1.0 / std::sqrt(static_cast<double>(q_BLNK.size(3))),
          .key_bias_M = key_bias,
          .engine = plan.engine};
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

// Fills `slot` unless it is filled: what a policy kept is not computed again.
template <class Compute>
const at::Tensor& fill(at::Tensor& slot, Compute compute) {
  if (!slot.defined()) slot = compute();
  return slot;
}

// q, k and v of every token as one product; in the last block k and v, and q of fewer tokens.
void project(const BlockParameters& p, const BlockPlan& plan, const at::Tensor& u1, BlockSaved& s) {
  if (s.v.defined()) return;
  const std::int64_t width = u1.size(-1);
  if (plan.joint_queries()) {
    const at::Tensor qkv = linear_forward(u1, joined({p.self.q, p.self.k, p.self.v}));
    s.q_in = qkv.narrow(-1, 0, width);
    s.k_in = qkv.narrow(-1, width, width);
    s.v = qkv.narrow(-1, 2 * width, width);
    return;
  }
  const at::Tensor kv = linear_forward(u1, joined({p.self.k, p.self.v}));
  s.q_in = linear_forward(in(plan.queries, u1), p.self.q);
  s.k_in = kv.narrow(-1, 0, width);
  s.v = kv.narrow(-1, width, width);
}

// Where the gradients of q, k and v go before their products: parts of one tensor as in `project`.
struct ProjectionGradients {
  at::Tensor joint;  // of q, k, v, or of k, v
  at::Tensor dq, dk, dv;
};

ProjectionGradients projection_gradients(const BlockPlan& plan, const at::Tensor& u1) {
  const std::int64_t width = u1.size(-1);
  const std::int64_t parts = plan.joint_queries() ? 3 : 2;
  ProjectionGradients d;
  d.joint = at::empty({u1.size(0), u1.size(1), parts * width}, u1.options());
  d.dk = d.joint.narrow(-1, (parts - 2) * width, width);
  d.dv = d.joint.narrow(-1, (parts - 1) * width, width);
  if (!plan.joint_queries()) {
    d.dq = at::empty({u1.size(0), plan.queries.count, width}, u1.options());
    return d;
  }
  const at::Tensor dq = d.joint.narrow(-1, 0, width);
  d.dq = in(plan.queries, dq);
  if (plan.states.count > 0) in(plan.states, dq).zero_();  // states do not query
  return d;
}

at::Tensor project_backward(const BlockParameters& p,
                            const BlockPlan& plan,
                            const ProjectionGradients& d,
                            const at::Tensor& u1) {
  if (plan.joint_queries()) {
    return linear_backward(d.joint, u1, joined({p.self.q, p.self.k, p.self.v}));
  }
  const at::Tensor du1 = linear_backward(d.joint, u1, joined({p.self.k, p.self.v}));
  linear_backward_parameters(d.dq, in(plan.queries, u1), p.self.q);
  add_linear_backward_input(d.dq, p.self.q, in(plan.queries, du1));
  return du1;
}

// One context: its keys, values and attention output.
void attend(const Context& c, const BlockPlan& plan, const at::Tensor& q_BLNK, ContextSaved& s) {
  if (!s.v.defined()) {
    const at::Tensor kv = linear_forward(c.tokens_BMD, joined({c.k, c.v}));
    s.k_in = kv.narrow(-1, 0, kv.size(-1) / 2);
    s.v = kv.narrow(-1, kv.size(-1) / 2, kv.size(-1) / 2);
  }
  fill(s.k, [&] { return qk_norm_forward(s.k_in, qk(c.norm_k, plan), {}, s.rstd); });
  if (s.out.defined()) return;
  const at::Tensor out = at::empty(q_BLNK.sizes(), q_BLNK.options());
  s.lse = at::empty({q_BLNK.size(0), q_BLNK.size(2), q_BLNK.size(1)}, statistics_of(q_BLNK));
  attention_forward(q_BLNK, s.k, split_heads(s.v, plan.heads),
                    attention_options(plan, q_BLNK, c.key_bias_M), out, s.lse);
  s.out = out.flatten(-2);
}

// Returns the gradient of the context tokens; writes dq.
at::Tensor attend_backward(const Context& c,
                           const BlockPlan& plan,
                           const at::Tensor& q_BLNK,
                           const ContextSaved& s,
                           const at::Tensor& dout_BLD,
                           const at::Tensor& dq_BLNK) {
  const at::Tensor dkv =
      at::empty({s.k_in.size(0), s.k_in.size(1), 2 * s.k_in.size(2)}, s.k_in.options());
  const at::Tensor dk_in = dkv.narrow(-1, 0, s.k_in.size(2));
  const at::Tensor dv = split_heads(dkv.narrow(-1, s.k_in.size(2), s.k_in.size(2)), plan.heads);
  const at::Tensor dk = at::empty(s.k.sizes(), s.k.options());
  attention_backward(split_heads(dout_BLD, plan.heads), q_BLNK, s.k, split_heads(s.v, plan.heads),
                     split_heads(s.out, plan.heads), s.lse,
                     attention_options(plan, q_BLNK, c.key_bias_M), {dq_BLNK, dk, dv});
  qk_norm_backward(dk, s.k_in, qk(c.norm_k, plan), {}, s.rstd, dk_in);
  return linear_backward(dkv, c.tokens_BMD, joined({c.k, c.v}));
}

// Self attention between its projections: out (B, results, D).
at::Tensor self_attend(const BlockPlan& plan, BlockSaved& s) {
  const at::Tensor v = split_heads(s.v, plan.heads);
  const at::Tensor out =
      at::empty({v.size(0), plan.results.count, plan.heads, v.size(3)}, v.options());
  s.lse = group_attention_forward(plan.attention_calls, attention_options(plan, s.q, {}), s.q, s.k,
                                  v, in(from(plan.results.begin, plan.queries), out));
  if (plan.states.count > 0) {
    in(from(plan.results.begin, plan.states), out).copy_(in(plan.states, v));
  }
  return out.flatten(-2);
}

void self_attend_backward(const BlockPlan& plan,
                          const BlockSaved& s,
                          const at::Tensor& dout_BLD,
                          const AttentionGradients& d) {
  const at::Tensor dout = split_heads(dout_BLD, plan.heads);
  const TokenRange queried = from(plan.results.begin, plan.queries);
  group_attention_backward(plan.attention_calls, attention_options(plan, s.q, {}),
                           in(queried, dout), s.q, s.k, split_heads(s.v, plan.heads),
                           in(queried, split_heads(s.attention, plan.heads)), s.lse, d);
  if (plan.states.count > 0) {
    in(plan.states, d.dv_BMNK).add_(in(from(plan.results.begin, plan.states), dout));
  }
}

at::Tensor modulation_table(const BlockParameters& p, const BlockInput& in) {
  return in.time_BRGD + p.modulation.value.unsqueeze(0);
}

// The rows of `q` that query: it may hold every token.
at::Tensor of_queries(const BlockPlan& plan, const at::Tensor& q) {
  return plan.joint_queries() ? in(plan.queries, q) : q;
}

at::Tensor query_rotary(const BlockPlan& plan) {
  return plan.rotary.narrow(0, plan.queries.begin, plan.queries.count);
}

// The three parts of the backward, from the end. Each takes the gradient of its result and returns
// that of its input, the residual path included.
at::Tensor feed_forward_backward(const BlockParameters& p,
                                 const BlockPlan& plan,
                                 const Modulations& m,
                                 const Modulations& dm,
                                 const BlockSaved& s,
                                 const at::Tensor& dout) {
  const at::Tensor dy3 =
      gated_residual_backward(dout, s.y3, m.ffn_gate(), plan.result_rows, dm.ffn_gate());
  const at::Tensor dh =
      tanh_gelu_backward(linear_backward(dy3, s.g, p.ffn_down), s.h, p.ffn_up.bias.gradient);
  const at::Tensor du3 = linear_backward(dh, s.u3, without_bias_gradient(p.ffn_up));
  return ada_norm_backward(du3, s.x2, m.before_ffn(), plan.result_rows, s.norm2, dm.before_ffn(),
                           /*residual_BLD=*/dout);
}

at::Tensor cross_backward(const BlockParameters& p,
                          const BlockPlan& plan,
                          const BlockInput& input,
                          const BlockSaved& s,
                          const at::Tensor& dx2,
                          BlockInput& d) {
  const at::Tensor dcross = linear_backward(dx2, s.cross, p.cross.o);
  const at::Tensor dq = at::empty(s.cross_q.sizes(), s.cross_q.options());
  const at::Tensor dimage_q = at::empty(s.cross_q.sizes(), s.cross_q.options());
  d.text_BMD = attend_backward(text_context(p, plan, input), plan, s.cross_q, s.text, dcross, dq);
  d.image_BMD =
      attend_backward(image_context(p, input), plan, s.cross_q, s.image, dcross, dimage_q);
  const at::Tensor dq_in =
      qk_norm_backward(dq + dimage_q, s.cross_q_in, qk(p.cross.norm_q, plan), {}, s.cross_q_rstd);
  const at::Tensor du2 = linear_backward(dq_in, s.u2, p.cross.q);
  return layer_norm_backward(du2, s.x1, p.norm3, s.norm3, /*residual_BLD=*/dx2);
}

at::Tensor self_backward(const BlockParameters& p,
                         const BlockPlan& plan,
                         const Modulations& m,
                         const Modulations& dm,
                         const at::Tensor& x,
                         const BlockSaved& s,
                         const at::Tensor& dx1) {
  const at::Tensor dy1 =
      gated_residual_backward(dx1, s.y1, m.attention_gate(), plan.result_rows, dm.attention_gate());
  const ProjectionGradients dp = projection_gradients(plan, s.u1);
  const at::Tensor dq = at::empty(s.q.sizes(), s.q.options());
  const at::Tensor dk = at::empty(s.k.sizes(), s.k.options());
  self_attend_backward(plan, s, linear_backward(dy1, s.attention, p.self.o),
                       {dq, dk, split_heads(dp.dv, plan.heads)});
  qk_norm_backward(dq, of_queries(plan, s.q_in), qk(p.self.norm_q, plan), query_rotary(plan),
                   s.q_rstd, dp.dq);
  qk_norm_backward(dk, s.k_in, qk(p.self.norm_k, plan), plan.rotary, s.k_rstd, dp.dk);
  const at::Tensor du1 = project_backward(p, plan, dp, s.u1);
  const bool all_come_out = plan.joint_queries();
  at::Tensor dx = ada_norm_backward(du1, x, m.before_attention(), plan.input_rows, s.norm1,
                                    dm.before_attention(), all_come_out ? dx1 : at::Tensor());
  if (!all_come_out) in(plan.results, dx).add_(dx1);
  return dx;
}

}  // namespace

void block_rebuild(const BlockParameters& p,
                   const BlockPlan& plan,
                   const BlockInput& input,
                   BlockSaved& s) {
  const Modulations m(modulation_table(p, input));
  const at::Tensor& x = input.x_BLD;

  fill(s.u1, [&] {
    return ada_norm_forward(x, m.before_attention(), plan.input_rows, plan.eps, s.norm1);
  });
  project(p, plan, s.u1, s);
  fill(s.q, [&] {
    return qk_norm_forward(of_queries(plan, s.q_in), qk(p.self.norm_q, plan), query_rotary(plan),
                           s.q_rstd);
  });
  fill(s.k,
       [&] { return qk_norm_forward(s.k_in, qk(p.self.norm_k, plan), plan.rotary, s.k_rstd); });
  fill(s.attention, [&] { return self_attend(plan, s); });
  fill(s.y1, [&] { return linear_forward(s.attention, p.self.o); });
  fill(s.x1, [&] {
    return gated_residual_forward(in(plan.results, x), s.y1, m.attention_gate(), plan.result_rows);
  });

  fill(s.u2, [&] { return layer_norm_forward(s.x1, p.norm3, plan.eps, s.norm3); });
  fill(s.cross_q_in, [&] { return linear_forward(s.u2, p.cross.q); });
  fill(s.cross_q,
       [&] { return qk_norm_forward(s.cross_q_in, qk(p.cross.norm_q, plan), {}, s.cross_q_rstd); });
  attend(text_context(p, plan, input), plan, s.cross_q, s.text);
  attend(image_context(p, input), plan, s.cross_q, s.image);
  fill(s.cross, [&] { return s.text.out + s.image.out; });
  fill(s.x2, [&] { return s.x1 + fill(s.y2, [&] { return linear_forward(s.cross, p.cross.o); }); });

  fill(s.u3,
       [&] { return ada_norm_forward(s.x2, m.before_ffn(), plan.result_rows, plan.eps, s.norm2); });
  fill(s.h, [&] { return linear_forward(s.u3, p.ffn_up); });
  fill(s.g, [&] { return tanh_gelu_forward(s.h); });
  fill(s.y3, [&] { return linear_forward(s.g, p.ffn_down); });
}

at::Tensor block_forward(const BlockParameters& p,
                         const BlockPlan& plan,
                         const BlockInput& input,
                         BlockSaved& s) {
  block_rebuild(p, plan, input, s);
  const Modulations m(modulation_table(p, input));
  return gated_residual_forward(s.x2, s.y3, m.ffn_gate(), plan.result_rows);
}

BlockInput block_backward(const BlockParameters& p,
                          const BlockPlan& plan,
                          const BlockInput& input,
                          const BlockSaved& s,
                          const at::Tensor& dout) {
  const Modulations m(modulation_table(p, input));
  const Modulations dm(at::zeros(m.table.sizes(), statistics_of(m.table)));
  BlockInput d;
  const at::Tensor dx2 = feed_forward_backward(p, plan, m, dm, s, dout);
  const at::Tensor dx1 = cross_backward(p, plan, input, s, dx2, d);
  d.x_BLD = self_backward(p, plan, m, dm, input.x_BLD, s, dx1);
  d.time_BRGD = dm.table.to(m.table.scalar_type());
  if (p.modulation.gradient.defined()) {
    at::Tensor gradient = p.modulation.gradient;
    gradient.add_(dm.table.sum(at::IntArrayRef{0, 1}));
  }
  return d;
}

}  // namespace wam
