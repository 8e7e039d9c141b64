#include "models/wam/attention_plan.h"

#include <algorithm>
#include <limits>

#include <ATen/ops/empty.h>

#include "core/ops/parameter.h"

namespace wam {
namespace {

at::Tensor tokens_of(const at::Tensor& x_BLNK, const TokenRange& range) {
  return x_BLNK.narrow(1, range.begin, range.count);
}

// The keys (or values) of one call after the other: a view where they are one range of the
// sequence, else the call's part of what was gathered for all of them.
class CallKeys {
 public:
  CallKeys(const GroupAttention& group, const at::Tensor& x_BLNK) : x_(x_BLNK) {
    if (group.gathered.slots() > 0) gathered_ = gather_tokens(x_BLNK, group.gathered);
  }
  at::Tensor next(const AttentionCall& call) {
    if (call.keys.size() == 1) return tokens_of(x_, call.keys.front());
    const TokenRange own{begin_, num_keys(call)};
    begin_ = own.end();
    return tokens_of(gathered_, own);
  }

 private:
  at::Tensor x_;
  at::Tensor gathered_;
  std::int64_t begin_ = 0;
};

// The part of one call in the log-sum-exp of all: (B, N, queries).
at::Tensor lse_of(const at::Tensor& lse_BSNL, std::size_t call_idx, std::int64_t queries) {
  return lse_BSNL.select(1, static_cast<std::int64_t>(call_idx)).narrow(2, 0, queries);
}

void forward_call_by_call(const GroupAttention& group,
                          const AttentionOptions& options,
                          const at::Tensor& q_BLNK,
                          const at::Tensor& k_BLNK,
                          const at::Tensor& v_BLNK,
                          const at::Tensor& out_BLNK,
                          const at::Tensor& lse_BSNL) {
  CallKeys k(group, k_BLNK);
  CallKeys v(group, v_BLNK);
  for (std::size_t i = 0; i < group.calls.size(); ++i) {
    const TokenRange own{group.sequences[i].query_begin, group.sequences[i].queries};
    attention_forward(tokens_of(q_BLNK, own), k.next(group.calls[i]), v.next(group.calls[i]),
                      options, tokens_of(out_BLNK, own), lse_of(lse_BSNL, i, own.count));
  }
}

void backward_call_by_call(const GroupAttention& group,
                           const AttentionOptions& options,
                           const at::Tensor& dout_BLNK,
                           const at::Tensor& q_BLNK,
                           const at::Tensor& k_BLNK,
                           const at::Tensor& v_BLNK,
                           const at::Tensor& out_BLNK,
                           const at::Tensor& lse_BSNL,
                           const AttentionGradients& of_slots) {
  CallKeys k(group, k_BLNK);
  CallKeys v(group, v_BLNK);
  for (std::size_t i = 0; i < group.calls.size(); ++i) {
    const AttentionSequence& s = group.sequences[i];
    const TokenRange own{s.query_begin, s.queries};
    const TokenRange keys{s.key_begin, s.keys};
    attention_backward(tokens_of(dout_BLNK, own), tokens_of(q_BLNK, own), k.next(group.calls[i]),
                       v.next(group.calls[i]), tokens_of(out_BLNK, own),
                       lse_of(lse_BSNL, i, own.count), options,
                       {tokens_of(of_slots.dq_BLNK, own), tokens_of(of_slots.dk_BMNK, keys),
                        tokens_of(of_slots.dv_BMNK, keys)});
  }
}

// Whether one call can serve: cuDNN's tables of first elements are 32 bits wide.
bool fits_one_call(const GroupAttention& group,
                   const AttentionOptions& options,
                   const at::Tensor& k_BLNK) {
  const std::int64_t elements =
      k_BLNK.size(0) * group.keys.slots() * k_BLNK.size(2) * k_BLNK.size(3);
  return options.engine != nullptr && elements <= std::numeric_limits<std::int32_t>::max();
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

std::int64_t num_keys(const AttentionCall& call) {
  std::int64_t count = 0;
  for (const TokenRange& range : call.keys) count += range.count;
  return count;
}

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

std::int64_t GroupAttention::longest_queries() const {
  std::int64_t most = 0;
  for (const AttentionSequence& s : sequences) most = std::max(most, s.queries);
  return most;
}

std::int64_t GroupAttention::longest_keys() const {
  std::int64_t most = 0;
  for (const AttentionSequence& s : sequences) most = std::max(most, s.keys);
  return most;
}

GroupAttention group_attention(const TokenLayout& layout,
                               std::int64_t window_frames,
                               const TokenRange& queries,
                               at::Device device) {
  GroupAttention group;
  group.calls = attention_plan(layout, window_frames, queries);
  group.queries = queries;
  std::vector<std::int64_t> gathered;
  std::vector<std::int64_t> keys;
  for (const AttentionCall& call : group.calls) {
    group.sequences.push_back({.query_begin = call.queries.begin - queries.begin,
                               .queries = call.queries.count,
                               .key_begin = static_cast<std::int64_t>(keys.size()),
                               .keys = num_keys(call)});
    for (const TokenRange& range : call.keys) {
      for (std::int64_t token = range.begin; token < range.end(); ++token) {
        keys.push_back(token);
        if (call.keys.size() > 1) gathered.push_back(token);
      }
    }
  }
  group.keys = token_slots(keys, layout.tokens(), device);
  group.gathered = token_slots(gathered, layout.tokens(), device);
  return group;
}

at::Tensor group_attention_forward(const GroupAttention& group,
                                   const AttentionOptions& options,
                                   const at::Tensor& q_BLNK,
                                   const at::Tensor& k_BLNK,
                                   const at::Tensor& v_BLNK,
                                   const at::Tensor& out_BLNK) {
  at::Tensor lse_BSNL = at::empty({q_BLNK.size(0), static_cast<std::int64_t>(group.calls.size()),
                                   q_BLNK.size(2), group.longest_queries()},
                                  q_BLNK.options().dtype(accumulate_type(q_BLNK.scalar_type())));
  if (fits_one_call(group, options, k_BLNK)) {
    options.engine->forward_group(group.sequences, q_BLNK, gather_tokens(k_BLNK, group.keys),
                                  gather_tokens(v_BLNK, group.keys), options, out_BLNK, lse_BSNL);
  } else {
    forward_call_by_call(group, options, q_BLNK, k_BLNK, v_BLNK, out_BLNK, lse_BSNL);
  }
  return lse_BSNL;
}

void group_attention_backward(const GroupAttention& group,
                              const AttentionOptions& options,
                              const at::Tensor& dout_BLNK,
                              const at::Tensor& q_BLNK,
                              const at::Tensor& k_BLNK,
                              const at::Tensor& v_BLNK,
                              const at::Tensor& out_BLNK,
                              const at::Tensor& lse_BSNL,
                              const AttentionGradients& gradients) {
  const std::vector<std::int64_t> slots = {k_BLNK.size(0), group.keys.slots(), k_BLNK.size(2),
                                           k_BLNK.size(3)};
  const AttentionGradients of_slots{gradients.dq_BLNK, at::empty(slots, k_BLNK.options()),
                                    at::empty(slots, k_BLNK.options())};
  if (fits_one_call(group, options, k_BLNK) &&
      group.longest_keys() <= kLongestKeysOfGroupBackward) {
    options.engine->backward_group(
        group.sequences, dout_BLNK, q_BLNK, gather_tokens(k_BLNK, group.keys),
        gather_tokens(v_BLNK, group.keys), out_BLNK, lse_BSNL, options, of_slots);
  } else {
    backward_call_by_call(group, options, dout_BLNK, q_BLNK, k_BLNK, v_BLNK, out_BLNK, lse_BSNL,
                          of_slots);
  }
  sum_slots(of_slots.dk_BMNK, group.keys, gradients.dk_BMNK);
  sum_slots(of_slots.dv_BMNK, group.keys, gradients.dv_BMNK);
}

}  // namespace wam
