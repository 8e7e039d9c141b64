#include "models/wam/embeddings.h"

#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/zeros.h>

#include "core/ops/parameter.h"

namespace wam {
namespace {

at::Tensor linear(const at::Tensor& x, const Leaves& w, const std::string& name) {
  return at::linear(x, w(name + ".weight"), w(name + ".bias"));
}

// Affine map of the one embodiment category: W (1, in, out), b (1, out).
at::Tensor category(const at::Tensor& x,
                    const Leaves& w,
                    const std::string& weight,
                    const std::string& bias) {
  return at::linear(x, w(weight).select(0, 0).t(), w(bias).select(0, 0));
}

// Evaluated in the accumulate type, rounded once.
at::Tensor layer_norm(const at::Tensor& x, const Leaves& w, const std::string& name, double eps) {
  const auto wide = accumulate_type(x.scalar_type());
  return at::layer_norm(x.to(wide), {x.size(-1)}, w(name + ".weight").to(wide),
                        w(name + ".bias").to(wide), eps)
      .to(x.scalar_type());
}

// Non-overlapping 2x2 patches of a latent, in the order of the convolution's weight; an odd last
// row or column is dropped. (B, C, F, Y, X) -> (B, F * rows * columns, C * 4).
at::Tensor patches(const at::Tensor& x_BCFYX, const TokenLayout& l) {
  return x_BCFYX.narrow(3, 0, 2 * l.patch_rows)
      .narrow(4, 0, 2 * l.patch_columns)
      .unflatten(4, {l.patch_columns, 2})
      .unflatten(3, {l.patch_rows, 2})
      .permute({0, 2, 3, 5, 1, 4, 6})
      .flatten(4)
      .flatten(1, 3);
}

at::Tensor video_tokens(const at::Tensor& latent_BCFYX,
                        const DitInput& in,
                        const TokenLayout& l,
                        const Leaves& w) {
  const at::Tensor x =
      in.condition_BCFYX.defined() ? at::cat({latent_BCFYX, in.condition_BCFYX}, 1) : latent_BCFYX;
  return at::linear(patches(x, l), w("patch_embedding.weight").flatten(1),
                    w("patch_embedding.bias"));
}

at::Tensor action_tokens(const DitInput& in, const WamConfig& c, const Leaves& w) {
  at::Tensor timestep = in.action_timestep_BP;
  if (!timestep.defined()) {
    timestep = in.video_timestep_BR.narrow(1, 1, in.video_timestep_BR.size(1) - 1)
                   .unsqueeze(-1)
                   .expand({-1, -1, c.actions_per_block})
                   .flatten(1);
  }
  const at::Tensor time = sinusoid(timestep, c.width, SinusoidOrder::kSinCos);
  const at::Tensor a = category(in.action_BPA, w, "action_encoder.W1.W", "action_encoder.W1.b");
  const at::Tensor z = category(at::cat({a, time.to(a.scalar_type())}, -1), w,
                                "action_encoder.W2.W", "action_encoder.W2.b");
  return category(z * z.sigmoid(), w, "action_encoder.W3.W", "action_encoder.W3.b");
}

at::Tensor state_tokens(const at::Tensor& state_BNS, const Leaves& w) {
  const at::Tensor hidden =
      category(state_BNS, w, "state_encoder.layer1.W", "state_encoder.layer1.b").relu();
  return category(hidden, w, "state_encoder.layer2.W", "state_encoder.layer2.b");
}

// In the order of TokenLayout.
at::Tensor sequence(const DitInput& in, const TokenLayout& l, const WamConfig& c, const Leaves& w) {
  const at::Tensor clean = video_tokens(in.clean_BCFYX, in, l, w);
  const at::Tensor noisy = video_tokens(in.noisy_BCFYX, in, l, w);
  const at::Tensor frame0 = noisy.narrow(1, 0, l.frame_tokens());
  at::Tensor blocks = noisy.narrow(1, l.frame_tokens(), l.video_tokens() - l.frame_tokens());
  if (l.actions_per_block == 0) return at::cat({clean, frame0, blocks}, 1);
  const at::Tensor actions = action_tokens(in, c, w).unflatten(1, {l.blocks, l.actions_per_block});
  blocks = at::cat({blocks.unflatten(1, {l.blocks, l.block_video_tokens()}), actions}, 2);
  return at::cat({clean, frame0, blocks.flatten(1, 2), state_tokens(in.state_BNS, w)}, 1);
}

at::Tensor distinct_timesteps(const DitInput& in, const TokenLayout& l) {
  std::vector<at::Tensor> parts = {
      at::zeros({in.video_timestep_BR.size(0), 1}, in.video_timestep_BR.options()),
      in.video_timestep_BR};
  if (l.action_time == ActionTime::kOwn) parts.push_back(in.action_timestep_BP);
  return at::cat(parts, 1);
}

at::Tensor text_tokens(const at::Tensor& text_BMD, const WamConfig& c, const Leaves& w) {
  at::Tensor text = text_BMD;
  if (text.size(1) < c.text_length) {
    // One row stands for all that are zero: see Note [Shortened Text] in dit.cpp.
    text = at::cat({text, at::zeros({text.size(0), 1, text.size(2)}, text.options())}, 1);
  }
  return linear(at::gelu(linear(text, w, "text_embedding.0"), "tanh"), w, "text_embedding.2");
}

at::Tensor image_tokens(const at::Tensor& clip_BMD, const Leaves& w) {
  const at::Tensor x = layer_norm(clip_BMD, w, "img_emb.proj.0", WamConfig::kImageNormEps);
  const at::Tensor hidden = at::gelu(linear(x, w, "img_emb.proj.1"), "none");
  return layer_norm(linear(hidden, w, "img_emb.proj.3"), w, "img_emb.proj.4",
                    WamConfig::kImageNormEps);
}

}  // namespace

at::Tensor sinusoid(const at::Tensor& timestep, std::int64_t width, SinusoidOrder order) {
  const std::int64_t half = width / 2;
  const at::Tensor steps = at::arange(half, timestep.options().dtype(at::kDouble));
  const at::Tensor frequency = (steps * (-std::log(10000.0) / static_cast<double>(half))).exp();
  const at::Tensor angle = timestep.to(at::kDouble).unsqueeze(-1) * frequency;
  return order == SinusoidOrder::kCosSin ? at::cat({angle.cos(), angle.sin()}, -1)
                                         : at::cat({angle.sin(), angle.cos()}, -1);
}

Embedded embed(const DitInput& in, const TokenLayout& layout, const WamConfig& c, const Leaves& w) {
  Embedded out;
  out.token_BLD = sequence(in, layout, c, w);
  const at::Tensor wave =
      sinusoid(distinct_timesteps(in, layout), c.frequency_width, SinusoidOrder::kCosSin)
          .to(out.token_BLD.scalar_type());
  out.time_BRD = linear(at::silu(linear(wave, w, "time_embedding.0")), w, "time_embedding.2");
  out.time_BRGD =
      linear(at::silu(out.time_BRD), w, "time_projection.1").unflatten(-1, {6, c.width});
  out.text_BMD = text_tokens(in.text_BMD, c, w);
  out.image_BMD = image_tokens(in.clip_BMD, w);
  return out;
}

}  // namespace wam
