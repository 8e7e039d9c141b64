#include "models/wam/attention_plan.h"

#include <algorithm>

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>

#include "core/ops/parameter.h"

namespace wam {
namespace {

at::Tensor tokens_of(const at::Tensor& x_BLNK, const TokenRange& range) {
  return x_BLNK.narrow(1, range.begin, range.count);
}

at::Tensor gather(const at::Tensor& x_BLNK, const std::vector<TokenRange>& ranges) {
  if (ranges.size() == 1) return tokens_of(x_BLNK, ranges.front());
  std::vector<at::Tensor> parts;
  for (const TokenRange& range : ranges) parts.push_back(tokens_of(x_BLNK, range));
  return at::cat(parts, 1);
}

void add_back(const at::Tensor& sum_BLNK,
              const std::vector<TokenRange>& ranges,
              const at::Tensor& part_BMNK) {
  std::int64_t at = 0;
  for (const TokenRange& range : ranges) {
    tokens_of(sum_BLNK, range).add_(part_BMNK.narrow(1, at, range.count));
    at += range.count;
  }
}

AttentionCall clean_block(const TokenLayout& layout,
                          std::int64_t window_frames,
                          std::int64_t block_idx) {
  const std::int64_t frame = layout.frame_tokens();
  const TokenRange own{frame + block_idx * layout.block_video_tokens(),
                       layout.block_video_tokens()};
  const std::int64_t first = std::max(frame, own.end() - window_frames * frame);
  if (first == frame) return {own, {{0, own.end()}}};
  return {own, {{0, frame}, {first, own.end() - first}}};
}

AttentionCall noisy_block(const TokenLayout& layout, std::int64_t block_idx) {
  const TokenRange own = layout.noisy_block(block_idx);
  AttentionCall call{own,
                     {{0, layout.frame_tokens() + block_idx * layout.block_video_tokens()}, own}};
  if (layout.states().count > 0) call.keys.push_back({layout.states().begin + block_idx, 1});
  return call;
}

}  // namespace

std::vector<AttentionCall> attention_plan(const TokenLayout& layout,
                                          std::int64_t window_frames,
                                          const TokenRange& queries) {
  const TokenRange frame0{0, layout.frame_tokens()};
  std::vector<AttentionCall> all;
  all.push_back({frame0, {frame0}});
  for (std::int64_t i = 0; i < layout.blocks; ++i) {
    all.push_back(clean_block(layout, window_frames, i));
  }
  all.push_back({layout.noisy_frame0(), {layout.noisy_frame0()}});
  for (std::int64_t i = 0; i < layout.blocks; ++i) all.push_back(noisy_block(layout, i));
  std::erase_if(all, [&](const AttentionCall& call) {
    return call.queries.begin < queries.begin || call.queries.end() > queries.end();
  });
  return all;
}

std::vector<at::Tensor> group_attention_forward(const std::vector<AttentionCall>& calls,
                                                const AttentionOptions& options,
                                                std::int64_t first_query,
                                                const at::Tensor& q_BLNK,
                                                const at::Tensor& k_BLNK,
                                                const at::Tensor& v_BLNK,
                                                const at::Tensor& out_BLNK) {
  std::vector<at::Tensor> lse;
  for (const AttentionCall& call : calls) {
    const TokenRange own{call.queries.begin - first_query, call.queries.count};
    lse.push_back(attention_forward(tokens_of(q_BLNK, own), gather(k_BLNK, call.keys),
                                    gather(v_BLNK, call.keys), options, tokens_of(out_BLNK, own)));
  }
  return lse;
}

GroupAttentionGradients group_attention_backward(const std::vector<AttentionCall>& calls,
                                                 const AttentionOptions& options,
                                                 std::int64_t first_query,
                                                 const at::Tensor& dout_BLNK,
                                                 const at::Tensor& q_BLNK,
                                                 const at::Tensor& k_BLNK,
                                                 const at::Tensor& v_BLNK,
                                                 const at::Tensor& out_BLNK,
                                                 const std::vector<at::Tensor>& lse) {
  const auto sum_options = k_BLNK.options().dtype(accumulate_type(k_BLNK.scalar_type()));
  GroupAttentionGradients sum{.dq_BLNK = at::empty(q_BLNK.sizes(), q_BLNK.options()),
                              .dk_BLNK = at::zeros(k_BLNK.sizes(), sum_options),
                              .dv_BLNK = at::zeros(v_BLNK.sizes(), sum_options)};
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const AttentionCall& call = calls[i];
    const TokenRange own{call.queries.begin - first_query, call.queries.count};
    const at::Tensor k = gather(k_BLNK, call.keys);
    const at::Tensor v = gather(v_BLNK, call.keys);
    const at::Tensor dk = at::empty(k.sizes(), k.options());
    const at::Tensor dv = at::empty(v.sizes(), v.options());
    attention_backward(tokens_of(dout_BLNK, own), tokens_of(q_BLNK, own), k, v,
                       tokens_of(out_BLNK, own), lse[i], options,
                       {tokens_of(sum.dq_BLNK, own), dk, dv});
    add_back(sum.dk_BLNK, call.keys, dk);
    add_back(sum.dv_BLNK, call.keys, dv);
  }
  return sum;
}

}  // namespace wam
