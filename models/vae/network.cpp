#include "models/vae/network.h"

#include <utility>

#include <ATen/TensorOperators.h>

namespace wam {
namespace {

ChannelTerms run_step(const VaeContext& vae,
                      const VaeStep& step,
                      ChannelTerms& x,
                      ClipMemory& memory) {
  switch (step.kind) {
    case VaeStepKind::kResidual:
      return residual_block(vae, step.prefix, x, memory);
    case VaeStepKind::kDown2d:
      return down_space(vae, step.prefix, x);
    case VaeStepKind::kDown3d:
      return {
          down_time(vae, step.prefix, resolved(down_space(vae, step.prefix, x)), memory), {}, {}};
    case VaeStepKind::kUp2d:
      return {up_space(vae, step.prefix, resolved(x)), {}, {}};
    case VaeStepKind::kUp3d:
      return {up_space(vae, step.prefix, up_time(vae, step.prefix, resolved(x))), {}, {}};
  }
  return {};
}

// The averaging shortcut of a Wan2.2 encoder level: the mean of 2 x 2 positions, and pairs of
// frames to channels.
at::Tensor down_shortcut(const VaeContext& vae, const VaeLevel& level, const at::Tensor& x_BCTHW) {
  if (!level.resampled_in_space) return x_BCTHW;
  const at::Tensor pooled = pool_space(x_BCTHW);
  // Pooling leaves the layout of a single frame to chance.
  return level.resampled_in_time ? frame_pairs_to_channels(pooled, vae.format)
                                 : pooled.contiguous(vae.format);
}

// The repeating shortcut of a Wan2.2 decoder level: channel o*G + g repeats to fill output channel
// o, time, rows and columns in that order of significance; the first of the doubled frames is
// dropped. Source: DupUp3D, Wan2.2 wan/modules/vae2_2.py @ 42bf4cf.
at::Tensor up_shortcut(const VaeLevel& level, const at::Tensor& x_BCTHW) {
  const std::int64_t time = level.resampled_in_time ? 2 : 1;
  const std::int64_t repeats = level.out * time * 4 / level.in;
  const at::Tensor repeated = x_BCTHW.repeat_interleave(repeats, 1);
  const at::Tensor blocks = repeated.unflatten(1, {level.out, time, 2, 2});
  // (B, O, t, p, q, T, H, W) -> (B, O, T, t, H, p, W, q)
  const at::Tensor grown =
      blocks.permute({0, 1, 5, 2, 6, 3, 7, 4}).flatten(6, 7).flatten(4, 5).flatten(2, 3);
  return grown.narrow(2, time - 1, grown.size(2) - (time - 1));
}

// The level without its first step.
ChannelTerms run_rest(const VaeContext& vae,
                      const VaeLevel& level,
                      ChannelTerms x,
                      ClipMemory& memory) {
  for (std::size_t i = 1; i < level.steps.size(); ++i) {
    x = run_step(vae, level.steps[i], x, memory);
  }
  return x;
}

// The level's output with the shortcut of its input.
ChannelTerms with_shortcut(const VaeContext& vae,
                           const VaeLevel& level,
                           const at::Tensor& in_BCTHW,
                           ChannelTerms out,
                           const ClipMemory& memory) {
  if (out.skip_BCTHW.defined()) out = {resolved(out), {}, {}};
  at::Tensor in = in_BCTHW;
  if (memory.has_still_end()) {
    const std::int64_t frames = out.x_BCTHW.size(2);
    const std::int64_t matching = level.resampled_in_time ? 2 * frames - 1 : frames;
    in = with_last_repeated(in, matching - in.size(2));
  }
  out.skip_BCTHW = down_shortcut(vae, level, in);
  return out;
}

ChannelTerms run_middle(const VaeContext& vae,
                        const std::string& prefix,
                        ChannelTerms x,
                        ClipMemory& memory) {
  x = residual_block(vae, prefix + ".0", x, memory);
  x = frame_attention(vae, prefix + ".1", x);
  return residual_block(vae, prefix + ".2", x, memory);
}

}  // namespace

at::Tensor vae_encode_chunk(const VaeConfig& config,
                            const VaeContext& vae,
                            const at::Tensor& video_BCTHW,
                            ClipMemory& memory) {
  memory.rewind();
  const bool wan22 = config.kind == VaeKind::kWan22;
  ChannelTerms x = input_conv(vae, video_BCTHW, config.patch(), memory);
  for (const VaeLevel& level : encoder_levels(config)) {
    ChannelTerms in = std::move(x);
    x = run_step(vae, level.steps.front(), in, memory);
    if (!wan22) in = {};
    x = run_rest(vae, level, std::move(x), memory);
    if (wan22) x = with_shortcut(vae, level, in.x_BCTHW, std::move(x), memory);
  }
  x = run_middle(vae, "encoder.middle", std::move(x), memory);
  if (memory.has_still_end()) x = {memory.drawn_out(resolved(x), 2), {}, {}};
  x = norm_silu_conv(vae, "encoder.head.0.gamma", "encoder.head.2", std::move(x), memory);
  return point_conv(vae, "conv1", resolved(x)).narrow(1, 0, config.z_dim);
}

at::Tensor vae_decode_clip(const VaeConfig& config,
                           const VaeContext& vae,
                           const at::Tensor& z_BCFYX) {
  const bool wan22 = config.kind == VaeKind::kWan22;
  ClipMemory memory = ClipMemory::whole();
  ChannelTerms x = causal_conv(vae, "decoder.conv1",
                               point_conv(vae, "conv2", z_BCFYX.contiguous(vae.format)), memory);
  x = run_middle(vae, "decoder.middle", std::move(x), memory);
  for (const VaeLevel& level : decoder_levels(config)) {
    ChannelTerms in = std::move(x);
    x = run_step(vae, level.steps.front(), in, memory);
    x = run_rest(vae, level, std::move(x), memory);
    if (wan22 && level.resampled_in_space) {
      const at::Tensor sum = resolved(x) + up_shortcut(level, in.x_BCTHW);
      x = {sum.contiguous(vae.format), {}, {}};
    }
  }
  x = norm_silu_conv(vae, "decoder.head.0.gamma", "decoder.head.2", std::move(x), memory);
  return wan22 ? channels_to_pixels(resolved(x)) : resolved(x);
}

}  // namespace wam
