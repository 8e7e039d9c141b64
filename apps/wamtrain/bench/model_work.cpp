#include "apps/wamtrain/bench/model_work.h"

#include <algorithm>
#include <string>
#include <utility>

#include "models/wam/attention_plan.h"
#include "models/wam/flops.h"
#include "models/wam/layout.h"

namespace wam {
namespace {

// Rows of the tensors of one block, all samples together.
struct BlockRows {
  double tokens = 0;             // that go in
  double queries = 0;            // of self attention
  double results = 0;            // that come out
  double slots = 0;              // keys of all attention calls
  double gathered_backward = 0;  // of those, copied together before a backward
  double text = 0;
  double image = 0;
};

BlockRows rows_of(const WamConfig& c,
                  const MicroBatchShape& shape,
                  const TokenLayout& layout,
                  const TokenRange& results) {
  const bool whole = results.count == layout.tokens();
  const TokenRange queries = whole ? layout.queries() : results;
  std::int64_t slots = 0;
  std::int64_t gathered = 0;
  std::int64_t longest = 0;
  for (const auto& call : attention_plan(layout, c.window_frames(), queries)) {
    const std::int64_t keys = num_keys(call);
    slots += keys;
    if (call.keys.size() > 1) gathered += keys;
    longest = std::max(longest, keys);
  }
  if (longest <= kLongestKeysOfGroupBackward) gathered = slots;
  const BlockExtents extents =
      block_extents(c, shape, whole ? BlockPlace::kInner : BlockPlace::kLast);
  const auto of_all = [&](std::int64_t rows) { return static_cast<double>(shape.samples * rows); };
  return {.tokens = of_all(layout.tokens()),
          .queries = of_all(queries.count),
          .results = of_all(results.count),
          .slots = of_all(slots),
          .gathered_backward = of_all(gathered),
          .text = static_cast<double>(extents.text_tokens),
          .image = static_cast<double>(extents.image_tokens)};
}

// Counts tensors of `row_bytes` a row that are read or written.
class Traffic {
 public:
  Traffic(const WamConfig& c, const BlockRows& rows, double element_bytes)
      : r_(rows),
        row_bytes_(element_bytes * static_cast<double>(c.width)),
        wide_row_bytes_(element_bytes * static_cast<double>(c.ffn_width)) {}

  void forward() {
    to_attention();
    gather(r_.slots);
    add(KernelClass::kGatedResidual, 3 * r_.results);
    to_feed_forward();
    gelu_forward();
    add(KernelClass::kGatedResidual, 3 * r_.results);
  }

  // What block_rebuild does for what the policy did not keep.
  void rebuild(RecomputePolicy policy) {
    if (policy == RecomputePolicy::kNone) return;
    to_attention();
    if (policy == RecomputePolicy::kFull) gather(r_.slots);
    if (policy != RecomputePolicy::kAttention) add(KernelClass::kGatedResidual, 3 * r_.results);
    to_feed_forward();
    gelu_forward();
  }

  void backward() {
    add(KernelClass::kGatedResidual, 2 * 3 * r_.results);
    bytes_[KernelClass::kGelu] += 3 * r_.results * wide_row_bytes_;
    add(KernelClass::kNorm, 2 * 4 * r_.results + 4 * r_.tokens);
    add(KernelClass::kQkNorm, 3 * (r_.queries + r_.tokens + r_.results + r_.text + r_.image));
    gather(r_.gathered_backward);
    add(KernelClass::kGather, 2 * (r_.slots + r_.tokens));
    // Gradients of biases: down, both output projections, cross q; q, k, v; two contexts.
    add(KernelClass::kColumnSum,
        4 * r_.results + r_.queries + 2 * r_.tokens + 2 * r_.text + 2 * r_.image);
  }

  [[nodiscard]] const std::map<KernelClass, double>& bytes() const { return bytes_; }

 private:
  void add(KernelClass kind, double rows) { bytes_[kind] += rows * row_bytes_; }
  void to_attention() {
    add(KernelClass::kNorm, 2 * r_.tokens);
    add(KernelClass::kQkNorm, 2 * (r_.queries + r_.tokens));
  }
  // Keys and values.
  void gather(double slots) { add(KernelClass::kGather, 2 * 2 * slots); }
  void to_feed_forward() {
    add(KernelClass::kNorm, 2 * 2 * r_.results);
    add(KernelClass::kQkNorm, 2 * (r_.results + r_.text + r_.image));
  }
  void gelu_forward() { bytes_[KernelClass::kGelu] += 2 * r_.results * wide_row_bytes_; }

  BlockRows r_;
  double row_bytes_;
  double wide_row_bytes_;
  std::map<KernelClass, double> bytes_;
};

TokenLayout layout_of(const WamConfig& c, const MicroBatchShape& shape) {
  TokenLayout layout;
  layout.blocks = shape.blocks;
  layout.patch_rows = c.patch_rows();
  layout.patch_columns = c.patch_columns();
  layout.actions_per_block = c.actions_per_block;
  return layout;
}

double fixed_flops(const WamConfig& c, const MicroBatchShape& shape) {
  const bool is_preset = (c.preset == "5b" || c.preset == "14b") && c == wam_preset(c.preset);
  if (!is_preset || shape.blocks != c.max_blocks || shape.text_rows != c.text_length) return 0;
  return c.preset == "5b" ? 29.4e12 : 1374e12;
}

}  // namespace

ModelWork model_work(const WamConfig& config,
                     const MicroBatchShape& shape,
                     const RecomputePlan& recompute) {
  ModelWork out;
  WamConfig counted = config;
  // A zero row stands for those that are left out.
  if (shape.text_rows < config.text_length) counted.text_length = shape.text_rows + 1;
  const auto samples = static_cast<double>(shape.samples);
  const double fixed = fixed_flops(config, shape);
  out.is_fixed = fixed > 0;
  out.flops = samples * (out.is_fixed ? fixed : training_flops(counted, shape.blocks));
  out.attention_flops = samples * 3 * attention_flops(counted, shape.blocks);
  const TokenLayout layout = layout_of(config, shape);
  const auto element_bytes = static_cast<double>(c10::elementSize(shape.compute_type));
  for (std::int64_t i = 0; i < config.layers; ++i) {
    const bool is_last = i + 1 == config.layers;
    const TokenRange results = is_last ? layout.results() : TokenRange{0, layout.tokens()};
    Traffic traffic(config, rows_of(config, shape, layout, results), element_bytes);
    traffic.forward();
    traffic.rebuild(recompute.of_block(i));
    traffic.backward();
    for (const auto& [kind, bytes] : traffic.bytes()) out.bytes[kind] += bytes;
  }
  return out;
}

}  // namespace wam
