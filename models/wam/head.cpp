#include "models/wam/head.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>

#include "core/ops/parameter.h"

namespace wam {
namespace {

// The head's two vectors of every latent frame: (B, F, 2, D).
at::Tensor frame_modulation(const at::Tensor& time_BRD, const TokenLayout& l, const Leaves& w) {
  const at::Tensor rows = time_BRD.unsqueeze(2) + w("head.modulation").unsqueeze(0);
  const at::Tensor blocks = rows.narrow(1, 2, l.blocks)
                                .unsqueeze(2)
                                .expand({-1, -1, WamConfig::kFramesPerBlock, -1, -1})
                                .flatten(1, 2);
  return at::cat({rows.narrow(1, 1, 1), blocks}, 1);
}

at::Tensor video(const at::Tensor& token_BLD,
                 const at::Tensor& time_BRD,
                 const TokenLayout& l,
                 const WamConfig& c,
                 const Leaves& w) {
  const auto type = token_BLD.scalar_type();
  const auto wide = accumulate_type(type);
  const at::Tensor m = frame_modulation(time_BRD, l, w).unsqueeze(2);  // (B, F, 1, 2, D)
  const at::Tensor x = at::layer_norm(token_BLD.to(wide), {c.width}, {}, {}, c.eps)
                           .unflatten(1, {l.frames(), l.frame_tokens()});
  const at::Tensor u = (x * (m.select(3, 1) + 1) + m.select(3, 0)).to(type);
  return at::linear(u, w("head.head.weight"), w("head.head.bias"))
      .unflatten(2, {l.patch_rows, l.patch_columns})
      .unflatten(-1, {2, 2, c.latent_channels})
      .permute({0, 6, 1, 2, 4, 3, 5})
      .flatten(5)
      .flatten(3, 4);
}

at::Tensor decode_actions(const at::Tensor& token_BPD, const Leaves& w) {
  const auto category = [&](const at::Tensor& x, const std::string& layer) {
    return at::linear(x, w("action_decoder." + layer + ".W").select(0, 0).t(),
                      w("action_decoder." + layer + ".b").select(0, 0));
  };
  return category(category(token_BPD, "layer1").relu(), "layer2");
}

}  // namespace

DitOutput head(const at::Tensor& token_BLD,
               const at::Tensor& time_BRD,
               const TokenLayout& l,
               const WamConfig& config,
               const Leaves& weights) {
  const std::int64_t first = l.frame_tokens();
  const at::Tensor blocks = token_BLD.narrow(1, first, token_BLD.size(1) - first)
                                .unflatten(1, {l.blocks, l.noisy_block(0).count});
  const at::Tensor video_tokens = at::cat(
      {token_BLD.narrow(1, 0, first), blocks.narrow(2, 0, l.block_video_tokens()).flatten(1, 2)},
      1);
  DitOutput out;
  out.video_BCFYX = video(video_tokens, time_BRD, l, config, weights);
  if (l.actions_per_block > 0) {
    const at::Tensor actions =
        blocks.narrow(2, l.block_video_tokens(), l.actions_per_block).flatten(1, 2);
    out.action_BPA = decode_actions(actions, weights);
  }
  return out;
}

}  // namespace wam
