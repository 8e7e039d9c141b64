#include "core/ops/attention/attention_plain.h"

#include <algorithm>

#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros_like.h>

#include "core/ops/parameter.h"

namespace wam {
namespace {

template <class Visit>
void for_each_head_tile(const at::Tensor& q_BLNK,
                        std::int64_t keys,
                        std::int64_t score_elements,
                        Visit visit) {
  const std::int64_t heads = q_BLNK.size(2);
  const std::int64_t per_head = std::max<std::int64_t>(1, q_BLNK.size(0) * q_BLNK.size(1) * keys);
  const std::int64_t step = std::clamp<std::int64_t>(score_elements / per_head, 1, heads);
  for (std::int64_t h = 0; h < heads; h += step) visit(h, std::min(step, heads - h));
}

template <class Visit>
void for_each_query_tile(const at::Tensor& q_BLNK,
                         std::int64_t keys,
                         std::int64_t num_heads,
                         std::int64_t score_elements,
                         Visit visit) {
  const std::int64_t queries = q_BLNK.size(1);
  const std::int64_t per_query = std::max<std::int64_t>(1, q_BLNK.size(0) * num_heads * keys);
  const std::int64_t step =
      std::clamp<std::int64_t>(score_elements / per_query, 1, std::max<std::int64_t>(1, queries));
  for (std::int64_t q = 0; q < queries; q += step) visit(q, std::min(step, queries - q));
}

// (B, L, N, K) -> (B, heads, L, K) in the accumulate type.
at::Tensor heads_of(const at::Tensor& x_BLNK, std::int64_t head, std::int64_t num_heads) {
  return x_BLNK.narrow(2, head, num_heads)
      .transpose(1, 2)
      .to(accumulate_type(x_BLNK.scalar_type()))
      .contiguous();
}

at::Tensor scores(const at::Tensor& q_BNLK,
                  const at::Tensor& k_BNMK,
                  const AttentionOptions& options) {
  at::Tensor s = q_BNLK.matmul(k_BNMK.transpose(-1, -2)).mul_(options.scale);
  return options.key_bias_M.defined() ? s.add_(options.key_bias_M) : s;
}

}  // namespace

void attention_forward_plain(const at::Tensor& q_BLNK,
                             const at::Tensor& k_BMNK,
                             const at::Tensor& v_BMNK,
                             const AttentionOptions& options,
                             const at::Tensor& out_BLNK,
                             const at::Tensor& lse_BNL,
                             std::int64_t score_elements) {
  const std::int64_t keys = k_BMNK.size(1);
  for_each_head_tile(q_BLNK, keys, score_elements, [&](std::int64_t h, std::int64_t num_heads) {
    const at::Tensor q = heads_of(q_BLNK, h, num_heads);
    const at::Tensor k = heads_of(k_BMNK, h, num_heads);
    const at::Tensor v = heads_of(v_BMNK, h, num_heads);
    const at::Tensor out = out_BLNK.narrow(2, h, num_heads).transpose(1, 2);
    for_each_query_tile(
        q_BLNK, keys, num_heads, score_elements, [&](std::int64_t l, std::int64_t count) {
          at::Tensor p = scores(q.narrow(2, l, count), k, options);
          const at::Tensor lse = p.logsumexp(at::IntArrayRef{-1}, /*keepdim=*/true);
          p.sub_(lse).exp_();
          out.narrow(2, l, count).copy_(p.matmul(v));
          lse_BNL.narrow(1, h, num_heads).narrow(2, l, count).copy_(lse.squeeze(-1));
        });
  });
}

void attention_backward_plain(const at::Tensor& dout_BLNK,
                              const at::Tensor& q_BLNK,
                              const at::Tensor& k_BMNK,
                              const at::Tensor& v_BMNK,
                              const at::Tensor& out_BLNK,
                              const at::Tensor& lse_BNL,
                              const AttentionOptions& options,
                              const AttentionGradients& gradients,
                              std::int64_t score_elements) {
  const std::int64_t keys = k_BMNK.size(1);
  for_each_head_tile(q_BLNK, keys, score_elements, [&](std::int64_t h, std::int64_t num_heads) {
    const at::Tensor q = heads_of(q_BLNK, h, num_heads);
    const at::Tensor k = heads_of(k_BMNK, h, num_heads);
    const at::Tensor v = heads_of(v_BMNK, h, num_heads);
    const at::Tensor dout = heads_of(dout_BLNK, h, num_heads);
    const at::Tensor lse = lse_BNL.narrow(1, h, num_heads).unsqueeze(-1);
    // sum_m p dp = sum_k dout out: the softmax's own gradient without another pass over keys.
    const at::Tensor mean_dp =
        (dout * heads_of(out_BLNK, h, num_heads)).sum(at::IntArrayRef{-1}, /*keepdim=*/true);
    at::Tensor dk = at::zeros_like(k);
    at::Tensor dv = at::zeros_like(v);
    for_each_query_tile(
        q_BLNK, keys, num_heads, score_elements, [&](std::int64_t l, std::int64_t count) {
          const at::Tensor q_tile = q.narrow(2, l, count);
          const at::Tensor dout_tile = dout.narrow(2, l, count);
          const at::Tensor p = scores(q_tile, k, options).sub_(lse.narrow(2, l, count)).exp_();
          dv.add_(p.transpose(-1, -2).matmul(dout_tile));
          at::Tensor ds = dout_tile.matmul(v.transpose(-1, -2)).sub_(mean_dp.narrow(2, l, count));
          ds.mul_(p).mul_(options.scale);
          dk.add_(ds.transpose(-1, -2).matmul(q_tile));
          gradients.dq_BLNK.narrow(2, h, num_heads)
              .transpose(1, 2)
              .narrow(2, l, count)
              .copy_(ds.matmul(k));
        });
    gradients.dk_BMNK.narrow(2, h, num_heads).transpose(1, 2).copy_(dk);
    gradients.dv_BMNK.narrow(2, h, num_heads).transpose(1, 2).copy_(dv);
  });
}

}  // namespace wam
