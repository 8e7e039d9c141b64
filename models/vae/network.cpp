#include "models/vae/network.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/constant_pad_nd.h>

namespace wam {
namespace {

at::Tensor run_step(const VaeContext& vae,
                    const VaeStep& step,
                    const at::Tensor& x_BCTHW,
                    ClipMemory& memory) {
  switch (step.kind) {
    case VaeStepKind::kResidual:
      return residual_block(vae, step.prefix, x_BCTHW, memory);
    case VaeStepKind::kDown2d:
      return down_space(vae, step.prefix, x_BCTHW);
    case VaeStepKind::kDown3d:
      return down_time(vae, step.prefix, down_space(vae, step.prefix, x_BCTHW), memory);
    case VaeStepKind::kUp2d:
      return up_space(vae, step.prefix, x_BCTHW);
    case VaeStepKind::kUp3d:
      return up_space(vae, step.prefix, up_time(vae, step.prefix, x_BCTHW));
  }
  return {};
}

// The averaging shortcut of a Wan2.2 encoder level: the mean of 2 x 2 positions, and pairs of
// frames to channels (even channels the earlier frame). An odd number of frames, as a clip's first
// chunk has, gets one zero frame in front.
at::Tensor down_shortcut(const VaeLevel& level, const at::Tensor& x_BCTHW) {
  if (!level.resampled_in_space) return x_BCTHW;
  const at::Tensor pooled = pool_space(x_BCTHW);
  if (!level.resampled_in_time) return pooled;
  const bool odd = pooled.size(2) % 2 == 1;
  const at::Tensor even = odd ? at::constant_pad_nd(pooled, {0, 0, 0, 0, 1, 0}, 0) : pooled;
  return even.unflatten(2, {even.size(2) / 2, 2}).permute({0, 1, 3, 2, 4, 5}).flatten(1, 2);
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

at::Tensor run_level(const VaeContext& vae,
                     const VaeLevel& level,
                     const at::Tensor& x_BCTHW,
                     ClipMemory& memory) {
  at::Tensor out = x_BCTHW;
  for (const VaeStep& step : level.steps) out = run_step(vae, step, out, memory);
  return out;
}

at::Tensor run_middle(const VaeContext& vae,
                      const std::string& prefix,
                      const at::Tensor& x_BCTHW,
                      ClipMemory& memory) {
  at::Tensor out = residual_block(vae, prefix + ".0", x_BCTHW, memory);
  out = frame_attention(vae, prefix + ".1", out);
  return residual_block(vae, prefix + ".2", out, memory);
}

}  // namespace

at::Tensor vae_encode_chunk(const VaeConfig& config,
                            const VaeContext& vae,
                            const at::Tensor& video_BCTHW,
                            ClipMemory& memory) {
  memory.rewind();
  const bool wan22 = config.kind == VaeKind::kWan22;
  at::Tensor x = wan22 ? pixels_to_channels(video_BCTHW) : video_BCTHW;
  x = causal_conv(vae, "encoder.conv1", x, memory);
  for (const VaeLevel& level : encoder_levels(config)) {
    const at::Tensor in = x;
    x = run_level(vae, level, in, memory);
    if (wan22) x = x + down_shortcut(level, in);
  }
  x = run_middle(vae, "encoder.middle", x, memory);
  x = norm_silu_conv(vae, "encoder.head.0.gamma", "encoder.head.2", x, memory);
  return point_conv(vae, "conv1", x).narrow(1, 0, config.z_dim);
}

at::Tensor vae_decode_clip(const VaeConfig& config,
                           const VaeContext& vae,
                           const at::Tensor& z_BCFYX) {
  const bool wan22 = config.kind == VaeKind::kWan22;
  ClipMemory memory(/*in_pieces=*/false);
  at::Tensor x = point_conv(vae, "conv2", z_BCFYX.contiguous(vae.format));
  x = causal_conv(vae, "decoder.conv1", x, memory);
  x = run_middle(vae, "decoder.middle", x, memory);
  for (const VaeLevel& level : decoder_levels(config)) {
    const at::Tensor in = x;
    x = run_level(vae, level, in, memory);
    if (wan22 && level.resampled_in_space) x = x + up_shortcut(level, in);
  }
  x = norm_silu_conv(vae, "decoder.head.0.gamma", "decoder.head.2", x, memory);
  return wan22 ? channels_to_pixels(x) : x;
}

}  // namespace wam
