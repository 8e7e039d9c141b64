#include "models/wam/memory.h"

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

}  // namespace

std::vector<KeptTensor> block_tensors_kept(const WamConfig& c, const MicroBatchShape& shape) {
  const TokenLayout layout = layout_for(c, shape);
  const auto narrow = static_cast<std::int64_t>(c10::elementSize(shape.compute_type));
  const auto wide =
      static_cast<std::int64_t>(c10::elementSize(accumulate_type(shape.compute_type)));
  const std::int64_t tokens = shape.samples * layout.tokens();
  const std::int64_t queries = shape.samples * layout.queries().count;
  std::vector<KeptTensor> out;
  const auto wide_vector = [&](const char* name, std::int64_t rows) {
    out.push_back({name, rows * wide});
  };
  const auto activation = [&](const char* name, std::int64_t rows, std::int64_t width) {
    out.push_back({name, rows * width * narrow});
  };
  for (const char* name : {"norm1.mean", "norm1.rstd", "norm3.mean", "norm3.rstd", "norm2.mean",
                           "norm2.rstd", "k_rstd", "cross_q_rstd"}) {
    wide_vector(name, tokens);
  }
  wide_vector("q_rstd", queries);
  wide_vector("lse", queries * c.heads);
  for (const char* name : {"q_in", "q"}) activation(name, queries, c.width);
  for (const char* name : {"u1", "k_in", "k", "v", "attention", "y1", "x1", "u2", "cross_q_in",
                           "cross_q", "cross", "x2", "u3", "y3"}) {
    activation(name, tokens, c.width);
  }
  for (const char* name : {"h", "g"}) activation(name, tokens, c.ffn_width);
  for (const std::int64_t context :
       {shape.samples * text_tokens(c, shape), shape.samples * c.clip_tokens}) {
    for (const char* name : {"context k_in", "context k", "context v"}) {
      activation(name, context, c.width);
    }
    wide_vector("context rstd", context);
    activation("context out", tokens, c.width);
    wide_vector("context lse", tokens * c.heads);
  }
  return out;
}

BlockBytes block_bytes(const WamConfig& c, const MicroBatchShape& shape, RecomputePolicy policy) {
  BlockBytes out;
  out.input = shape.samples * layout_for(c, shape).tokens() * c.width *
              static_cast<std::int64_t>(c10::elementSize(shape.compute_type));
  std::int64_t everything = 0;
  for (const KeptTensor& tensor : block_tensors_kept(c, shape)) everything += tensor.bytes;
  switch (policy) {
    case RecomputePolicy::kNone:
      out.kept = everything;
      break;
    case RecomputePolicy::kFull:
      out.rebuilt = everything;
      break;
  }
  return out;
}

std::int64_t activation_bytes(const WamConfig& c,
                              const MicroBatchShape& shape,
                              RecomputePolicy policy) {
  const BlockBytes block = block_bytes(c, shape, policy);
  return c.layers * (block.input + block.kept) + block.rebuilt;
}

std::int64_t parameter_count(const std::vector<UnitSpec>& units) {
  std::int64_t count = 0;
  for (const UnitSpec& unit : units) {
    for (const TensorSpec& tensor : unit.tensors) count += tensor.numel();
  }
  return count;
}

}  // namespace wam
