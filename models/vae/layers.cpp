#include "models/vae/layers.h"

#include <array>
#include <cmath>

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/conv3d.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/mkldnn_convolution.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/upsample_nearest3d.h>

#include "core/ops/parameter.h"
#include "models/frozen/attention.h"

namespace wam {
namespace {

constexpr std::int64_t kHistory = 2;  // frames that a causal kernel of 3 looks back

using Extent = std::array<std::int64_t, 3>;

at::Tensor conv(const VaeContext& vae,
                const std::string& prefix,
                const at::Tensor& x_BCTHW,
                const Extent& stride,
                const Extent& padding) {
  const at::Tensor& weight = vae.weights.at(prefix + ".weight");
  const at::Tensor& bias = vae.weights.at(prefix + ".bias");
  if (x_BCTHW.is_cpu() && x_BCTHW.scalar_type() == at::kFloat && at::hasMKLDNN()) {
    // conv3d takes a loop sixteen times slower for a batch of one small clip.
    return at::mkldnn_convolution(x_BCTHW, weight, bias, padding, stride, Extent{1, 1, 1}, 1);
  }
  return at::conv3d(x_BCTHW, weight, bias, stride, padding);
}

// A buffer with room for the history in front of the frames of `x`, the history filled in.
at::Tensor with_history(const VaeContext& vae,
                        const at::Tensor& x_BCTHW,
                        const at::Tensor& slot,
                        at::ScalarType type) {
  at::Tensor out = at::empty({x_BCTHW.size(0), x_BCTHW.size(1), x_BCTHW.size(2) + kHistory,
                              x_BCTHW.size(3), x_BCTHW.size(4)},
                             x_BCTHW.options().dtype(type), vae.format);
  at::Tensor history = out.narrow(2, 0, kHistory);
  if (slot.defined()) {
    history.copy_(slot);
  } else {
    history.zero_();
  }
  return out;
}

at::Tensor conv_over_history(const VaeContext& vae,
                             const std::string& prefix,
                             const at::Tensor& buffer_BCTHW,
                             at::Tensor& slot,
                             const ClipMemory& memory) {
  if (memory.in_pieces()) {
    // A copy: a view would keep the whole buffer alive.
    slot = buffer_BCTHW.narrow(2, buffer_BCTHW.size(2) - kHistory, kHistory).clone();
  }
  return conv(vae, prefix, buffer_BCTHW, {1, 1, 1}, {0, 1, 1});
}

// |x| over channels, (B, 1, T, H, W), in accumulate_type of x.
at::Tensor channel_length(const at::Tensor& x_BCTHW) {
  const at::ScalarType wide = accumulate_type(x_BCTHW.scalar_type());
  if (x_BCTHW.is_cpu()) {
    // The norm kernel for CPUs is twenty times slower over a strided dimension than this.
    const at::Tensor x = x_BCTHW.to(wide);
    return (x * x).sum(1, /*keepdim=*/true).sqrt_();
  }
  return at::linalg_vector_norm(x_BCTHW, 2, {1}, /*keepdim=*/true, wide);
}

// In accumulate_type of x.
at::Tensor channel_norm(const at::Tensor& x_BCTHW, const at::Tensor& gamma) {
  const double root = std::sqrt(static_cast<double>(x_BCTHW.size(1)));
  const at::Tensor scale_B1THW = channel_length(x_BCTHW).clamp_min_(1e-12).reciprocal_().mul_(root);
  return at::mul(x_BCTHW, scale_B1THW).mul_(gamma);
}

}  // namespace

at::Tensor& ClipMemory::slot() {
  if (next_ == slots_.size()) slots_.emplace_back();
  return slots_[next_++];
}

void prepare_vae_weights(FrozenWeights& weights, at::MemoryFormat format) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : weights.tensors()) names.push_back(name);
  for (const std::string& name : names) {
    at::Tensor tensor = weights.at(name);
    if (name.ends_with(".gamma")) {
      tensor = tensor.reshape({1, -1, 1, 1, 1});
    } else if (name.ends_with(".weight")) {
      // 2-D kernels act on each frame alone: a kernel of one frame.
      tensor = (tensor.dim() == 4 ? tensor.unsqueeze(2) : tensor).contiguous(format);
    }
    weights.set(name, tensor);
  }
}

at::Tensor causal_conv(const VaeContext& vae,
                       const std::string& prefix,
                       const at::Tensor& x_BCTHW,
                       ClipMemory& memory) {
  at::Tensor& slot = memory.slot();
  const at::Tensor buffer = with_history(vae, x_BCTHW, slot, x_BCTHW.scalar_type());
  buffer.narrow(2, kHistory, x_BCTHW.size(2)).copy_(x_BCTHW);
  return conv_over_history(vae, prefix, buffer, slot, memory);
}

at::Tensor norm_silu_conv(const VaeContext& vae,
                          const std::string& gamma,
                          const std::string& prefix,
                          const at::Tensor& x_BCTHW,
                          ClipMemory& memory) {
  at::Tensor& slot = memory.slot();
  at::Tensor normed = channel_norm(x_BCTHW, vae.weights.at(gamma));
  const at::Tensor buffer = with_history(vae, x_BCTHW, slot, x_BCTHW.scalar_type());
  at::Tensor frames = buffer.narrow(2, kHistory, x_BCTHW.size(2));
  if (normed.scalar_type() == frames.scalar_type()) {
    at::silu_out(frames, normed);
  } else {
    frames.copy_(at::silu_(normed));
  }
  normed.reset();
  return conv_over_history(vae, prefix, buffer, slot, memory);
}

at::Tensor point_conv(const VaeContext& vae, const std::string& prefix, const at::Tensor& x_BCTHW) {
  return conv(vae, prefix, x_BCTHW, {1, 1, 1}, {0, 0, 0});
}

at::Tensor residual_block(const VaeContext& vae,
                          const std::string& prefix,
                          const at::Tensor& x_BCTHW,
                          ClipMemory& memory) {
  const std::string inner = prefix + ".residual.";
  at::Tensor out = norm_silu_conv(vae, inner + "0.gamma", inner + "2", x_BCTHW, memory);
  out = norm_silu_conv(vae, inner + "3.gamma", inner + "6", out, memory);
  const bool same_width = out.size(1) == x_BCTHW.size(1);
  return out.add_(same_width ? x_BCTHW : point_conv(vae, prefix + ".shortcut", x_BCTHW));
}

at::Tensor frame_attention(const VaeContext& vae,
                           const std::string& prefix,
                           const at::Tensor& x_BCTHW) {
  const std::int64_t batch = x_BCTHW.size(0);
  const std::int64_t width = x_BCTHW.size(1);
  const std::int64_t frames = x_BCTHW.size(2);
  const std::int64_t rows = x_BCTHW.size(3);
  const std::int64_t columns = x_BCTHW.size(4);
  const at::Tensor normed =
      channel_norm(x_BCTHW, vae.weights.at(prefix + ".norm.gamma")).to(x_BCTHW.scalar_type());
  const at::Tensor qkv_RLC = point_conv(vae, prefix + ".to_qkv", normed)
                                 .permute({0, 2, 3, 4, 1})
                                 .reshape({batch * frames, rows * columns, 3 * width});
  const at::Tensor mixed_RLC = frozen_attention(
      qkv_RLC.narrow(2, 0, width), qkv_RLC.narrow(2, width, width),
      qkv_RLC.narrow(2, 2 * width, width), 1.0 / std::sqrt(static_cast<double>(width)));
  const at::Tensor mixed_BCTHW =
      mixed_RLC.reshape({batch, frames, rows, columns, width}).permute({0, 4, 1, 2, 3});
  return point_conv(vae, prefix + ".proj", mixed_BCTHW.contiguous(vae.format)).add_(x_BCTHW);
}

at::Tensor down_space(const VaeContext& vae, const std::string& prefix, const at::Tensor& x_BCTHW) {
  const at::Tensor padded = at::constant_pad_nd(x_BCTHW, {0, 1, 0, 1}, 0);
  return conv(vae, prefix + ".resample.1", padded, {1, 2, 2}, {0, 0, 0});
}

at::Tensor down_time(const VaeContext& vae,
                     const std::string& prefix,
                     const at::Tensor& x_BCTHW,
                     ClipMemory& memory) {
  at::Tensor& slot = memory.slot();
  const std::int64_t frames = x_BCTHW.size(2);
  const auto halved = [&](const at::Tensor& x) {
    return conv(vae, prefix + ".time_conv", x, {2, 1, 1}, {0, 0, 0});
  };
  at::Tensor out;
  if (slot.defined()) {
    out = halved(at::cat({slot, x_BCTHW}, 2));
  } else {
    out = x_BCTHW.narrow(2, 0, 1);
    if (frames > 1) out = at::cat({out, halved(x_BCTHW)}, 2);
  }
  if (memory.in_pieces()) slot = x_BCTHW.narrow(2, frames - 1, 1).clone();
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

at::Tensor up_space(const VaeContext& vae, const std::string& prefix, const at::Tensor& x_BCTHW) {
  const at::Tensor doubled =
      at::upsample_nearest3d(x_BCTHW, {x_BCTHW.size(2), 2 * x_BCTHW.size(3), 2 * x_BCTHW.size(4)});
  return conv(vae, prefix + ".resample.1", doubled, {1, 1, 1}, {0, 1, 1});
}

at::Tensor up_time(const VaeContext& vae, const std::string& prefix, const at::Tensor& x_BCTHW) {
  const std::int64_t later = x_BCTHW.size(2) - 1;
  const at::Tensor first = x_BCTHW.narrow(2, 0, 1);
  if (later == 0) return first;
  const at::Tensor rest = x_BCTHW.narrow(2, 1, later);
  const at::Tensor buffer = with_history(vae, rest, {}, rest.scalar_type());
  buffer.narrow(2, kHistory, later).copy_(rest);
  const at::Tensor twice = conv(vae, prefix + ".time_conv", buffer, {1, 1, 1}, {0, 0, 0});
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
