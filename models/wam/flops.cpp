#include "models/wam/flops.h"

#include <numeric>

#include "models/wam/attention_plan.h"
#include "models/wam/layout.h"

namespace wam {
namespace {

// Query-key pairs of the calls, for all heads together once.
double pairs(const std::vector<AttentionCall>& calls) {
  double sum = 0;
  for (const auto& call : calls) {
    double keys = 0;
    for (const auto& range : call.keys) keys += static_cast<double>(range.count);
    sum += static_cast<double>(call.queries.count) * keys;
  }
  return sum;
}

// Self and cross attention of a block whose `results` tokens come out.
double block_attention(const WamConfig& c, const TokenLayout& layout, const TokenRange& results) {
  const auto context = static_cast<double>(c.text_length + c.clip_tokens);
  return 4 * static_cast<double>(c.width) *
         (pairs(attention_plan(layout, c.window_frames(), results)) +
          static_cast<double>(results.count) * context);
}

// A block whose `results` tokens come out, of all that go in as keys and values.
double block_flops(const WamConfig& c, const TokenLayout& layout, const TokenRange& results) {
  const auto d = static_cast<double>(c.width);
  const auto ffn = static_cast<double>(c.ffn_width);
  const auto in = static_cast<double>(layout.tokens());
  const auto out = static_cast<double>(results.count);
  const auto context = static_cast<double>(c.text_length + c.clip_tokens);
  const double self_products = 2 * d * d * (2 * in + 2 * out);  // k, v of all; q, o of results
  const double cross_products = 2 * d * d * (2 * out + 2 * context);
  return self_products + cross_products + block_attention(c, layout, results) + 4 * out * d * ffn;
}

double embedding_flops(const WamConfig& c, const TokenLayout& layout) {
  const auto d = static_cast<double>(c.width);
  const auto hidden = static_cast<double>(c.hidden_width);
  const auto video = static_cast<double>(layout.frames() * layout.frame_tokens());
  const auto actions = static_cast<double>(layout.actions());
  const auto states = static_cast<double>(layout.states().count);
  const auto image = static_cast<double>(c.clip_tokens);
  const auto image_width = static_cast<double>(c.clip_width);
  const double patches = 2 * 2 * video * 4 * static_cast<double>(c.input_channels()) * d;
  const double text =
      2 * static_cast<double>(c.text_length) * (static_cast<double>(c.text_width) * d + d * d);
  const double picture = 2 * image * (image_width * image_width + image_width * d);
  const double time = 2 * static_cast<double>(layout.blocks + 2) *
                      (static_cast<double>(c.frequency_width) * d + 7 * d * d);
  const double vectors = 2 * actions * (static_cast<double>(c.action_width) * d + 3 * d * d) +
                         2 * states * (static_cast<double>(c.state_width) * hidden + hidden * d);
  return patches + text + picture + time + vectors;
}

// Of noisy video and of actions.
double head_flops(const WamConfig& c, const TokenLayout& layout) {
  const auto d = static_cast<double>(c.width);
  const auto hidden = static_cast<double>(c.hidden_width);
  const auto video = static_cast<double>(layout.frames() * layout.frame_tokens());
  const auto actions = static_cast<double>(layout.actions());
  return 2 * video * d * 4 * static_cast<double>(c.latent_channels) +
         2 * actions * (hidden * d + hidden * static_cast<double>(c.action_width));
}

// The products that `attention` repeats: q, k and v of both attentions, the first of the
// feed-forward.
double repeated_products(const WamConfig& c, const TokenLayout& layout, const TokenRange& results) {
  const auto d = static_cast<double>(c.width);
  const auto in = static_cast<double>(layout.tokens());
  const auto out = static_cast<double>(results.count);
  const auto context = static_cast<double>(c.text_length + c.clip_tokens);
  return 2 * d * d * (2 * in + out) + 2 * d * d * (out + 2 * context) +
         2 * out * d * static_cast<double>(c.ffn_width);
}

TokenRange results_of(const WamConfig& c, const TokenLayout& layout, std::int64_t block_idx) {
  return block_idx + 1 == c.layers ? layout.results() : TokenRange{0, layout.tokens()};
}

TokenLayout layout_of(const WamConfig& config, std::int64_t blocks) {
  TokenLayout layout;
  layout.blocks = blocks;
  layout.patch_rows = config.patch_rows();
  layout.patch_columns = config.patch_columns();
  layout.actions_per_block = config.actions_per_block;
  return layout;
}

}  // namespace

std::vector<double> unit_forward_flops(const WamConfig& config, std::int64_t blocks) {
  const TokenLayout layout = layout_of(config, blocks);
  std::vector<double> out{embedding_flops(config, layout)};
  for (std::int64_t i = 0; i < config.layers; ++i) {
    out.push_back(block_flops(config, layout, results_of(config, layout, i)));
  }
  out.push_back(head_flops(config, layout));
  return out;
}

double forward_flops(const WamConfig& config, std::int64_t blocks) {
  const auto units = unit_forward_flops(config, blocks);
  return std::accumulate(units.begin(), units.end(), 0.0);
}

double recompute_flops(const WamConfig& config,
                       std::int64_t blocks,
                       const RecomputePlan& recompute) {
  const TokenLayout layout = layout_of(config, blocks);
  double sum = 0;
  for (std::int64_t i = 0; i < config.layers; ++i) {
    const TokenRange results = results_of(config, layout, i);
    const RecomputePolicy policy = recompute.of_block(i);
    if (policy == RecomputePolicy::kFull) sum += block_flops(config, layout, results);
    if (policy == RecomputePolicy::kAttention) sum += repeated_products(config, layout, results);
  }
  return sum;
}

double attention_flops(const WamConfig& config, std::int64_t blocks) {
  const TokenLayout layout = layout_of(config, blocks);
  return static_cast<double>(config.layers - 1) *
             block_attention(config, layout, {0, layout.tokens()}) +
         block_attention(config, layout, layout.results());
}

double training_flops(const WamConfig& config, std::int64_t blocks) {
  return 3 * forward_flops(config, blocks);
}

}  // namespace wam
