#include "models/wam/memory.h"

#include <algorithm>

#include "core/ops/parameter.h"
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

std::int64_t text_tokens(const WamConfig& c, const MicroBatchShape& shape) {
  return shape.text_rows < c.text_length ? shape.text_rows + 1 : c.text_length;
}

// Each frame 0 and each block, clean and noisy.
std::int64_t attention_calls(const TokenLayout& layout) {
  return 2 * (1 + layout.blocks);
}

}  // namespace

BlockExtents block_extents(const WamConfig& c, const MicroBatchShape& shape) {
  const TokenLayout layout = layout_for(c, shape);
  const auto bytes = [](c10::ScalarType type) {
    return static_cast<std::int64_t>(c10::elementSize(type));
  };
  return {.tokens = shape.samples * layout.tokens(),
          .queries = shape.samples * layout.queries().count,
          .lse_rows = shape.samples * attention_calls(layout) * layout.noisy_block(0).count,
          .text_tokens = shape.samples * text_tokens(c, shape),
          .image_tokens = shape.samples * c.clip_tokens,
          .width = c.width,
          .ffn_width = c.ffn_width,
          .heads = c.heads,
          .element_bytes = bytes(shape.compute_type),
          .statistic_bytes = bytes(accumulate_type(shape.compute_type))};
}

BlockBytes block_bytes(const WamConfig& c, const MicroBatchShape& shape, RecomputePolicy policy) {
  const BlockExtents extents = block_extents(c, shape);
  const auto total = [&](RecomputePolicy of) {
    std::int64_t sum = 0;
    for (const SavedBytes& tensor : saved_bytes(of, extents)) sum += tensor.bytes;
    return sum;
  };
  BlockBytes out;
  out.input = extents.tokens * extents.width * extents.element_bytes;
  out.kept = total(policy);
  // `norms` keeps one tensor that backward does not read: not less than nothing is rebuilt.
  out.rebuilt = std::max<std::int64_t>(0, total(RecomputePolicy::kNone) - out.kept);
  return out;
}

std::int64_t activation_bytes(const WamConfig& c,
                              const MicroBatchShape& shape,
                              const RecomputePlan& recompute) {
  std::int64_t kept = 0;
  std::int64_t rebuilt = 0;
  for (std::int64_t i = 0; i < c.layers; ++i) {
    const BlockBytes block = block_bytes(c, shape, recompute.of_block(i));
    kept += block.input + block.kept;
    rebuilt = std::max(rebuilt, block.rebuilt);
  }
  return kept + rebuilt;
}

std::int64_t parameter_count(const std::vector<UnitSpec>& units) {
  std::int64_t count = 0;
  for (const UnitSpec& unit : units) {
    for (const TensorSpec& tensor : unit.tensors) count += tensor.numel();
  }
  return count;
}

}  // namespace wam
