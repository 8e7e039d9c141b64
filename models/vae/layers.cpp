#include "models/vae/layers.h"

#include <cmath>
#include <utility>

#include <ATen/TensorOperators.h>
#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/upsample_nearest3d.h>

#include "core/ops/video_patches/video_patches.h"
#include "models/frozen/attention.h"
#include "models/vae/causal_buffer.h"

namespace wam {
namespace {

constexpr std::int64_t kHistory = 2;  // frames that a causal kernel of 3 looks back
// A residual block has two of them.
constexpr std::int64_t kBlockHistory = 2 * kHistory;

// The bias of two sums that are added.
at::Tensor both(const at::Tensor& a, const at::Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() ? a : b;
  return a + b;
}

}  // namespace

ChannelTerms causal_conv(const VaeContext& vae,
                         const std::string& prefix,
                         const at::Tensor& x_BCTHW,
                         ClipMemory& memory) {
  at::Tensor& slot = memory.slot();
  const CausalBuffer buffer(vae, prefix, x_BCTHW, slot);
  frames_side_by_side(x_BCTHW, buffer.frames());
  return buffer.convolve(vae, prefix, slot, memory);
}

ChannelTerms input_conv(const VaeContext& vae,
                        const at::Tensor& video_BCTHW,
                        std::int64_t pixel,
                        ClipMemory& memory) {
  if (video_BCTHW.is_cpu()) {
    const at::Tensor x = pixel == 2 ? pixels_to_channels(video_BCTHW) : video_BCTHW;
    return causal_conv(vae, kInputConv, x, memory);
  }
  at::Tensor& slot = memory.slot();
  const at::Tensor seen = slot.defined() ? at::cat({slot, video_BCTHW}, 2) : video_BCTHW;
  const std::int64_t frames = video_BCTHW.size(2);
  if (memory.in_pieces()) slot = seen.slice(2, -kHistory).clone();
  const at::Tensor rows_RK =
      video_patches(seen, {.pixel = pixel, .first_frame = seen.size(2) - frames});
  const at::Tensor out_RC = rows_RK.mm(vae.weights.at(std::string(kInputConv) + ".weight").t());
  return {out_RC
              .view({video_BCTHW.size(0), frames, video_BCTHW.size(3) / pixel,
                     video_BCTHW.size(4) / pixel, out_RC.size(1)})
              .permute({0, 4, 1, 2, 3}),
          {},
          {}};
}

ChannelTerms norm_silu_conv(const VaeContext& vae,
                            const std::string& gamma,
                            const std::string& prefix,
                            ChannelTerms x,
                            ClipMemory& memory) {
  at::Tensor& slot = memory.slot();
  const CausalBuffer buffer(vae, prefix, x.x_BCTHW, slot);
  channel_norm(x, vae.weights.at(gamma), ChannelActivation::kSilu, buffer.frames());
  x = {};
  return buffer.convolve(vae, prefix, slot, memory);
}

ChannelTerms norm_silu_conv_of_sum(const VaeContext& vae,
                                   const std::string& gamma,
                                   const std::string& prefix,
                                   ChannelTerms& x,
                                   ClipMemory& memory) {
  if (!x.is_sum()) return norm_silu_conv(vae, gamma, prefix, x, memory);
  at::Tensor& slot = memory.slot();
  const CausalBuffer buffer(vae, prefix, x.x_BCTHW, slot);
  channel_sum_norm(x, vae.weights.at(gamma), ChannelActivation::kSilu, x.x_BCTHW, buffer.frames());
  x = {x.x_BCTHW, {}, {}};
  return buffer.convolve(vae, prefix, slot, memory);
}

ChannelTerms residual_block(const VaeContext& vae,
                            const std::string& prefix,
                            ChannelTerms& x,
                            ClipMemory& memory) {
  const std::string inner = prefix + ".residual.";
  if (memory.has_still_end()) x = {memory.drawn_out(resolved(x), kBlockHistory), {}, {}};
  ChannelTerms out = norm_silu_conv_of_sum(vae, inner + "0.gamma", inner + "2", x, memory);
  out = norm_silu_conv(vae, inner + "3.gamma", inner + "6", std::move(out), memory);
  if (out.x_BCTHW.size(1) == x.x_BCTHW.size(1)) {
    out.skip_BCTHW = x.x_BCTHW;
  } else {
    const ChannelTerms side = conv_terms(vae, prefix + ".shortcut", x.x_BCTHW, {});
    out = {out.x_BCTHW, both(out.bias, side.bias), side.x_BCTHW};
  }
  return out;
}

ChannelTerms frame_attention(const VaeContext& vae, const std::string& prefix, ChannelTerms& x) {
  x = {resolved(x), {}, {}};
  const at::Tensor& x_BCTHW = x.x_BCTHW;
  const std::int64_t batch = x_BCTHW.size(0);
  const std::int64_t width = x_BCTHW.size(1);
  const std::int64_t frames = x_BCTHW.size(2);
  const std::int64_t rows = x_BCTHW.size(3);
  const std::int64_t columns = x_BCTHW.size(4);
  const at::Tensor normed = at::empty_like(x_BCTHW);
  channel_norm(x, vae.weights.at(prefix + ".norm.gamma"), ChannelActivation::kNone, normed);
  const at::Tensor qkv_RLC = point_conv(vae, prefix + ".to_qkv", normed)
                                 .permute({0, 2, 3, 4, 1})
                                 .reshape({batch * frames, rows * columns, 3 * width});
  const at::Tensor mixed_RLC = frozen_attention(
      qkv_RLC.narrow(2, 0, width), qkv_RLC.narrow(2, width, width),
      qkv_RLC.narrow(2, 2 * width, width), 1.0 / std::sqrt(static_cast<double>(width)));
  const at::Tensor mixed_BCTHW =
      mixed_RLC.reshape({batch, frames, rows, columns, width}).permute({0, 4, 1, 2, 3});
  return {point_conv(vae, prefix + ".proj", mixed_BCTHW.contiguous(vae.format)), {}, x_BCTHW};
}

ChannelTerms down_space(const VaeContext& vae, const std::string& prefix, const ChannelTerms& x) {
  const at::Tensor& values = x.x_BCTHW;
  const std::int64_t rows = values.size(3);
  const std::int64_t columns = values.size(4);
  at::Tensor padded =
      at::empty({values.size(0), values.size(1), values.size(2), rows + 1, columns + 1},
                values.options(), vae.format);
  padded.narrow(3, rows, 1).zero_();
  padded.narrow(4, columns, 1).zero_();
  channel_sum(x, padded.narrow(3, 0, rows).narrow(4, 0, columns));
  return conv_terms(vae, prefix + ".resample.1", padded, {.stride = {1, 2, 2}});
}

at::Tensor down_time(const VaeContext& vae,
                     const std::string& prefix,
                     const at::Tensor& x_BCTHW,
                     ClipMemory& memory) {
  // The last step then sees none but the still frame.
  const at::Tensor drawn = memory.drawn_out(x_BCTHW, 2 + (x_BCTHW.size(2) + 1) % 2);
  memory.halve_frames();
  at::Tensor& slot = memory.slot();
  const std::int64_t frames = drawn.size(2);
  const auto halved = [&](const at::Tensor& x) {
    return conv(vae, prefix + ".time_conv", x, {.stride = {2, 1, 1}});
  };
  at::Tensor out;
  if (slot.defined()) {
    out = halved(at::cat({slot, drawn}, 2));
  } else {
    out = drawn.narrow(2, 0, 1);
    if (frames > 1) out = at::cat({out, halved(drawn)}, 2).contiguous(vae.format);
  }
  if (memory.in_pieces()) slot = drawn.narrow(2, frames - 1, 1).clone();
  return out;
}

at::Tensor pool_space(const at::Tensor& x_BCTHW) {
  if (x_BCTHW.is_contiguous()) {
    return at::avg_pool2d(x_BCTHW.flatten(0, 1), {2, 2})
        .unflatten(0, {x_BCTHW.size(0), x_BCTHW.size(1)});
  }
  // Channels last: frames are pictures of their own without a copy.
  return at::avg_pool2d(x_BCTHW.transpose(1, 2).flatten(0, 1), {2, 2})
      .unflatten(0, {x_BCTHW.size(0), x_BCTHW.size(2)})
      .transpose(1, 2);
}

at::Tensor frame_pairs_to_channels(const at::Tensor& x_BCTHW, at::MemoryFormat format) {
  const std::int64_t frames = x_BCTHW.size(2);
  const std::int64_t zeros = frames % 2;
  at::Tensor out = at::empty({x_BCTHW.size(0), 2 * x_BCTHW.size(1), (frames + zeros) / 2,
                              x_BCTHW.size(3), x_BCTHW.size(4)},
                             x_BCTHW.options(), format);
  const at::Tensor pairs = out.unflatten(1, {x_BCTHW.size(1), 2});
  at::Tensor earlier = pairs.select(2, 0);
  if (zeros == 1) earlier.narrow(2, 0, 1).zero_();
  earlier.slice(2, zeros).copy_(x_BCTHW.slice(2, zeros, frames, 2));
  pairs.select(2, 1).copy_(x_BCTHW.slice(2, 1 - zeros, frames, 2));
  return out;
}

at::Tensor up_space(const VaeContext& vae, const std::string& prefix, const at::Tensor& x_BCTHW) {
  const at::Tensor doubled =
      at::upsample_nearest3d(x_BCTHW, {x_BCTHW.size(2), 2 * x_BCTHW.size(3), 2 * x_BCTHW.size(4)});
  return conv(vae, prefix + ".resample.1", doubled, {.padding = {0, 1, 1}});
}

at::Tensor up_time(const VaeContext& vae, const std::string& prefix, const at::Tensor& x_BCTHW) {
  const std::int64_t later = x_BCTHW.size(2) - 1;
  const at::Tensor first = x_BCTHW.narrow(2, 0, 1);
  if (later == 0) return first;
  const at::Tensor rest = x_BCTHW.narrow(2, 1, later);
  const at::Tensor padded = at::constant_pad_nd(rest, {0, 0, 0, 0, 2, 0}, 0);
  const at::Tensor twice = conv(vae, prefix + ".time_conv", padded, {});
  // Channels [0, C) are the earlier frame of each pair, [C, 2C) the later one.
  const std::int64_t width = x_BCTHW.size(1);
  const at::Tensor pairs = twice.unflatten(1, {2, width}).permute({0, 2, 3, 1, 4, 5});
  return at::cat({first, pairs.flatten(2, 3)}, 2).contiguous(vae.format);
}

at::Tensor pixels_to_channels(const at::Tensor& x_BCTHW) {
  const at::Tensor blocks =
      x_BCTHW.unflatten(3, {x_BCTHW.size(3) / 2, 2}).unflatten(5, {x_BCTHW.size(4) / 2, 2});
  // (B, C, T, H, q, W, r) -> (B, C, r, q, T, H, W)
  return blocks.permute({0, 1, 6, 4, 2, 3, 5}).flatten(1, 3);
}

at::Tensor channels_to_pixels(const at::Tensor& x_BCTHW) {
  const at::Tensor blocks = x_BCTHW.unflatten(1, {x_BCTHW.size(1) / 4, 2, 2});
  // (B, C, r, q, T, H, W) -> (B, C, T, H, q, W, r)
  return blocks.permute({0, 1, 4, 5, 3, 6, 2}).flatten(5, 6).flatten(3, 4);
}

}  // namespace wam
