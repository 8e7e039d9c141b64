#include "models/wam/memory.h"

#include <algorithm>

#include "core/ops/parameter.h"
#include "models/wam/attention_plan.h"
#include "models/wam/layout.h"

namespace wam {
namespace {

TokenLayout layout_for(const WamConfig& c, const MicroBatchShape& shape) {
  TokenLayout layout;
  layout.blocks = shape.blocks;
  layout.patch_rows = c.patch_rows();
  layout.patch_columns = c.patch_columns();
  layout.actions_per_block = c.actions_per_block;
  return layout;
}

TokenRange queries_of(const TokenLayout& layout, BlockPlace place) {
  return place == BlockPlace::kInner ? layout.queries() : layout.results();
}

std::int64_t text_tokens(const WamConfig& c, const MicroBatchShape& shape) {
  return shape.text_rows < c.text_length ? shape.text_rows + 1 : c.text_length;
}

std::int64_t bytes_of(c10::ScalarType type) {
  return static_cast<std::int64_t>(c10::elementSize(type));
}

// What cuDNN's deterministic backward takes: a part of dq for every 128 keys, seen with 9.19 at all
// shapes of both models.
std::int64_t attention_workspace(std::int64_t query_bytes, std::int64_t keys) {
  constexpr std::int64_t kTile = 128;
  return query_bytes * ((keys + kTile - 1) / kTile);
}

struct CallSizes {
  std::int64_t slots = 0;     // keys of all calls
  std::int64_t gathered = 0;  // of those, copied together before a call
  std::int64_t workspace = 0;
};

CallSizes call_sizes(const WamConfig& c, const MicroBatchShape& shape, BlockPlace place) {
  const TokenLayout layout = layout_for(c, shape);
  const auto calls = attention_plan(layout, c.window_frames(), queries_of(layout, place));
  const std::int64_t token_bytes = shape.samples * c.width * bytes_of(shape.compute_type);
  CallSizes out;
  std::int64_t longest_keys = 0;
  std::int64_t longest_queries = 0;
  for (const AttentionCall& call : calls) {
    const std::int64_t keys = num_keys(call);
    out.slots += keys;
    if (call.keys.size() > 1) out.gathered += keys;
    out.workspace =
        std::max(out.workspace, attention_workspace(token_bytes * call.queries.count, keys));
    longest_keys = std::max(longest_keys, keys);
    longest_queries = std::max(longest_queries, call.queries.count);
  }
  if (longest_keys > kLongestKeysOfGroupBackward) return out;
  // One call for all: every sequence is as long as the longest.
  const auto num_calls = static_cast<std::int64_t>(calls.size());
  out.gathered = out.slots;
  out.workspace = attention_workspace(token_bytes * num_calls * longest_queries, longest_keys);
  return out;
}

// The largest of the three parts of block_backward, in the order of its statements.
std::int64_t backward_bytes(const WamConfig& c, const MicroBatchShape& shape, BlockPlace place) {
  const BlockExtents e = block_extents(c, shape, place);
  const std::int64_t row = c.width * e.element_bytes;
  const std::int64_t contexts = (e.text_tokens + e.image_tokens) * row;
  // dout and dx2 stay until the end.
  const std::int64_t feed_forward =
      2 * e.results * row + 2 * e.results * c.ffn_width * e.element_bytes;
  const std::int64_t cross = 5 * e.results * row + 3 * e.text_tokens * row +
                             attention_workspace(e.results * row, text_tokens(c, shape));
  const CallSizes calls = call_sizes(c, shape, place);
  const std::int64_t self = 6 * e.results * row + 4 * e.inputs * row +
                            2 * shape.samples * (calls.slots + calls.gathered) * row +
                            calls.workspace;
  return contexts + std::max({feed_forward, cross, self});
}

// What LibTorch's graph of the embeddings keeps: the text's three layers, the image's five.
std::int64_t embedding_bytes(const WamConfig& c, const MicroBatchShape& shape) {
  const BlockExtents e = block_extents(c, shape, BlockPlace::kInner);
  const std::int64_t text = e.text_tokens * (c.text_width + 3 * c.width) * e.element_bytes;
  const std::int64_t image = e.image_tokens * ((3 * c.clip_width + 2 * c.width) * e.element_bytes +
                                               (c.clip_width + c.width) * e.statistic_bytes);
  return text + image;
}

}  // namespace

BlockExtents block_extents(const WamConfig& c, const MicroBatchShape& shape, BlockPlace place) {
  const TokenLayout layout = layout_for(c, shape);
  const TokenRange queries = queries_of(layout, place);
  const auto calls = attention_plan(layout, c.window_frames(), queries);
  std::int64_t longest_queries = 0;
  for (const AttentionCall& call : calls) {
    longest_queries = std::max(longest_queries, call.queries.count);
  }
  const bool is_last = place == BlockPlace::kLast;
  return {.inputs = shape.samples * layout.tokens(),
          .results = shape.samples * (is_last ? queries.count : layout.tokens()),
          .queries = shape.samples * queries.count,
          .lse_rows = shape.samples * static_cast<std::int64_t>(calls.size()) * longest_queries,
          .text_tokens = shape.samples * text_tokens(c, shape),
          .image_tokens = shape.samples * c.clip_tokens,
          .width = c.width,
          .ffn_width = c.ffn_width,
          .heads = c.heads,
          .element_bytes = bytes_of(shape.compute_type),
          .statistic_bytes = bytes_of(accumulate_type(shape.compute_type))};
}

BlockBytes block_bytes(const WamConfig& c,
                       const MicroBatchShape& shape,
                       RecomputePolicy policy,
                       BlockPlace place) {
  const BlockExtents extents = block_extents(c, shape, place);
  const auto kept = saved_bytes(policy, extents);
  BlockBytes out;
  out.input = extents.inputs * extents.width * extents.element_bytes;
  for (const SavedBytes& tensor : kept) out.kept += tensor.bytes;
  for (const SavedBytes& tensor : saved_bytes(RecomputePolicy::kNone, extents)) {
    const bool is_kept = std::any_of(kept.begin(), kept.end(), [&](const SavedBytes& other) {
      return other.name == tensor.name;
    });
    if (!is_kept) out.rebuilt += tensor.bytes;
  }
  out.backward = backward_bytes(c, shape, place);
  return out;
}

std::int64_t activation_bytes(const WamConfig& c,
                              const MicroBatchShape& shape,
                              const RecomputePlan& recompute) {
  std::int64_t kept = 0;
  std::int64_t peak = 0;
  for (std::int64_t i = 0; i < c.layers; ++i) {
    const auto place = i + 1 == c.layers ? BlockPlace::kLast : BlockPlace::kInner;
    const BlockBytes block = block_bytes(c, shape, recompute.of_block(i), place);
    kept += block.input + block.kept;
    peak = std::max(peak, kept + block.rebuilt + block.backward);
  }
  return peak + embedding_bytes(c, shape);
}

std::int64_t rebuilt_bytes(const WamConfig& c,
                           const MicroBatchShape& shape,
                           const RecomputePlan& recompute) {
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < c.layers; ++i) {
    const auto place = i + 1 == c.layers ? BlockPlace::kLast : BlockPlace::kInner;
    const RecomputePolicy policy = recompute.of_block(i);
    if (policy != RecomputePolicy::kFull) sum += block_bytes(c, shape, policy, place).rebuilt;
  }
  return sum;
}

std::int64_t parameter_count(const std::vector<UnitSpec>& units) {
  std::int64_t count = 0;
  for (const UnitSpec& unit : units) {
    for (const TensorSpec& tensor : unit.tensors) count += tensor.numel();
  }
  return count;
}

}  // namespace wam
