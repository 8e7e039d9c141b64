#include "models/wam/dit.h"

#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>

#include "core/base/errors.h"
#include "core/cuda/graph.h"
#include "core/ops/parameter.h"
#include "models/wam/block_node.h"

namespace wam {
namespace {

// Note [Shortened Text]
// Text is padded with zero vectors to text_length rows, and all rows are attended to. The padded
// rows are equal after the text embedding, so in every block they have equal keys and values, and
// softmax over n equal keys is softmax over one of them with log(n) added to its score. A batch
// whose rows past M are all zero therefore brings M rows, and one zero row stands for the rest.
at::Tensor text_key_bias(std::int64_t rows, std::int64_t text_length, at::TensorOptions options) {
  if (rows == text_length) return {};
  at::Tensor bias_M = at::zeros({rows + 1}, options.device(at::kCPU));
  bias_M.narrow(0, rows, 1).fill_(std::log(static_cast<double>(text_length - rows)));
  return bias_M.to(options.device());
}

BlockPlan block_plan(const WamConfig& c,
                     const TokenLayout& layout,
                     const TokenRange& results,
                     const at::Tensor& rotary,
                     const at::Tensor& text_bias,
                     AttentionEngine* engine) {
  const bool whole = results.count == layout.tokens();
  const TokenRange queries = whole ? layout.queries() : results;
  return {
      .results = results,
      .queries = queries,
      .states = whole ? layout.states() : TokenRange{},
      .input_rows =
          rows_for(rotary.device(), time_rows_of(layout, {0, layout.tokens()}), layout.time_rows()),
      .result_rows = rows_for(rotary.device(), time_rows_of(layout, results), layout.time_rows()),
      .attention_calls = group_attention(layout, c.window_frames(), queries, rotary.device()),
      .rotary = rotary,
      .text_key_bias_M = text_bias,
      .heads = c.heads,
      .eps = c.eps,
      .engine = engine};
}

void check_video(const DitInput& in, const WamConfig& c, const TokenLayout& l) {
  const std::int64_t batch = in.noisy_BCFYX.size(0);
  require<InvariantError>(in.noisy_BCFYX.size(1) == c.latent_channels &&
                              in.noisy_BCFYX.size(2) == l.frames() && l.blocks >= 1 &&
                              in.clean_BCFYX.sizes() == in.noisy_BCFYX.sizes(),
                          "transformer: {} latent channels in {} frames, expected {} and 1 + 2 N "
                          "frames, the same for the clean video",
                          in.noisy_BCFYX.size(1), in.noisy_BCFYX.size(2), c.latent_channels);
  require<InvariantError>(in.condition_BCFYX.defined() == (c.type == ModelType::kI2v),
                          "transformer: the first-frame condition belongs to i2v, and only to it");
  require<InvariantError>(
      in.video_timestep_BR.size(0) == batch && in.video_timestep_BR.size(1) == 1 + l.blocks,
      "transformer: {} timesteps a sample, expected 1 + {} blocks", in.video_timestep_BR.size(1),
      l.blocks);
  require<InvariantError>(
      in.text_BMD.size(1) <= c.text_length && in.text_BMD.size(2) == c.text_width,
      "transformer: text of {} rows of {} values, expected at most {} of {}", in.text_BMD.size(1),
      in.text_BMD.size(2), c.text_length, c.text_width);
  require<InvariantError>(
      in.clip_BMD.size(1) == c.clip_tokens && in.clip_BMD.size(2) == c.clip_width,
      "transformer: {} image tokens of {} values, expected {} of {}", in.clip_BMD.size(1),
      in.clip_BMD.size(2), c.clip_tokens, c.clip_width);
}

void check_actions(const DitInput& in, const WamConfig& c, const TokenLayout& l) {
  if (!in.action_BPA.defined()) return;
  require<InvariantError>(
      in.action_BPA.size(1) == l.actions() && in.action_BPA.size(2) == c.action_width,
      "transformer: {} actions of {} values, expected {} blocks of {} actions "
      "of {} values",
      in.action_BPA.size(1), in.action_BPA.size(2), l.blocks, c.actions_per_block, c.action_width);
  require<InvariantError>(in.state_BNS.defined() && in.state_BNS.size(1) == l.blocks &&
                              in.state_BNS.size(2) == c.state_width,
                          "transformer: expected {} states of {} values", l.blocks, c.state_width);
}

}  // namespace

Dit::Dit(const WamConfig& config, const RecomputePlan& recompute, AttentionEngine* attention)
    : config_(config), recompute_(recompute), attention_(attention) {
  check(config_);
  units_ = wam_units(config_);
}

TokenLayout Dit::layout_of(const DitInput& in) const {
  TokenLayout layout;
  layout.blocks = (in.noisy_BCFYX.size(2) - 1) / WamConfig::kFramesPerBlock;
  layout.patch_rows = in.noisy_BCFYX.size(3) / 2;
  layout.patch_columns = in.noisy_BCFYX.size(4) / 2;
  layout.actions_per_block = in.action_BPA.defined() ? config_.actions_per_block : 0;
  layout.action_time = in.action_timestep_BP.defined() ? ActionTime::kOwn : ActionTime::kOfBlock;
  return layout;
}

const Dit::Plans& Dit::plans_for(const DitInput& in) {
  const TokenLayout layout = layout_of(in);
  const std::int64_t text_rows = in.text_BMD.size(1);
  const auto type = in.noisy_BCFYX.scalar_type();
  const auto device = in.noisy_BCFYX.device();
  for (const Plans& plans : plans_) {
    if (plans.layout == layout && plans.text_rows == text_rows && plans.type == type &&
        plans.device == device) {
      return plans;
    }
  }
  const LongLivedMemory outlives_a_warm_up(device);
  const auto wide = at::TensorOptions(device).dtype(accumulate_type(type));
  const at::Tensor rotary = rotary_table(layout, config_.head_width()).to(wide.dtype()).to(device);
  const at::Tensor bias = text_key_bias(text_rows, config_.text_length, wide);
  const TokenRange whole{0, layout.tokens()};
  plans_.push_back({layout, text_rows, type, device,
                    std::make_shared<const BlockPlan>(
                        block_plan(config_, layout, whole, rotary, bias, attention_)),
                    std::make_shared<const BlockPlan>(
                        block_plan(config_, layout, layout.results(), rotary, bias, attention_))});
  return plans_.back();
}

void Dit::Forward::begin_backward() {
  sharding_.acquire(head_, Pass::kBackward);
  sharding_.acquire(embeddings_, Pass::kBackward);
}

void Dit::Forward::end_backward() {
  const at::NoGradGuard no_grad;
  if (head_leaves_) head_leaves_->add_gradients();
  if (embedding_leaves_) embedding_leaves_->add_gradients();
  for (const std::size_t unit : {head_, embeddings_}) {
    sharding_.gradient_complete(unit);
    sharding_.release(unit, Pass::kBackward);
    sharding_.release(unit, Pass::kForward);
  }
  sharding_.end_pass();
}

void Dit::Forward::finish() {
  sharding_.release(head_, Pass::kForward);
  sharding_.release(embeddings_, Pass::kForward);
  sharding_.end_pass();
}

std::unique_ptr<Dit::Forward> Dit::forward(const DitInput& in,
                                           Sharding& sharding,
                                           Leaves::Track track) {
  const at::AutoGradMode grad_mode(track == Leaves::Track::kYes);
  const TokenLayout layout = layout_of(in);
  check_video(in, config_, layout);
  check_actions(in, config_, layout);
  const Plans& plans = plans_for(in);
  const std::size_t head_idx = units_.size() - 1;
  auto out = std::make_unique<Forward>(sharding, 0, head_idx);

  sharding.begin_pass();
  out->embedding_leaves_.emplace(sharding.acquire(0, Pass::kForward), track);
  const Embedded embedded = embed(in, layout, config_, *out->embedding_leaves_);
  at::Tensor token_BLD = embedded.token_BLD;
  for (std::int64_t i = 0; i < config_.layers; ++i) {
    const BlockCall call{.block_idx = i,
                         .unit_idx = static_cast<std::size_t>(1 + i),
                         .policy = recompute_.of_block(i),
                         .plan = i + 1 == config_.layers ? plans.last : plans.inner,
                         .sharding = &sharding};
    token_BLD =
        run_block(call, {token_BLD, embedded.time_BRGD, embedded.text_BMD, embedded.image_BMD});
  }
  out->head_leaves_.emplace(sharding.acquire(head_idx, Pass::kForward), track);
  out->output = head(token_BLD, embedded.time_BRD, layout, config_, *out->head_leaves_);
  return out;
}

void Dit::walk_empty(Sharding& sharding, Leaves::Track track) const {
  const std::size_t head_idx = units_.size() - 1;
  sharding.begin_pass();
  sharding.acquire(0, Pass::kForward);
  for (std::size_t i = 1; i < head_idx; ++i) {
    sharding.acquire(i, Pass::kForward);
    sharding.release(i, Pass::kForward);
  }
  sharding.acquire(head_idx, Pass::kForward);
  Forward nothing(sharding, 0, head_idx);
  if (track == Leaves::Track::kNo) return nothing.finish();
  nothing.begin_backward();
  for (std::size_t i = head_idx - 1; i > 0; --i) {
    sharding.acquire(i, Pass::kBackward);
    sharding.gradient_complete(i);
    sharding.release(i, Pass::kBackward);
  }
  nothing.end_backward();
}

}  // namespace wam
