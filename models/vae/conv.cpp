#include "models/vae/conv.h"

#include <algorithm>
#include <vector>

#include <ATen/Context.h>
#include <ATen/ops/conv3d.h>
#include <ATen/ops/cudnn_convolution.h>
#include <ATen/ops/mkldnn_convolution.h>

#include "core/ops/parameter.h"
#include "core/ops/video_patches/video_patches.h"

namespace wam {
namespace {

constexpr ConvExtent kDense{1, 1, 1};

// (in, out) channels for which the 2-D kernel over three frames side by side was faster on an H200
// with cuDNN 9.19 than the 3-D one, the frames' two more writes counted in.
constexpr std::array<std::array<std::int64_t, 2>, 2> kJoined{{{96, 96}, {320, 320}}};

bool joining_pays(const at::Tensor& weight) {
  const std::array<std::int64_t, 2> channels{weight.size(1), weight.size(0)};
  return weight.dim() == 5 && weight.size(2) == 3 && weight.size(3) == 3 &&
         std::find(kJoined.begin(), kJoined.end(), channels) != kJoined.end();
}

at::Tensor gpu_weight(const at::Tensor& weight) {
  if (weight.dim() == 4) return weight.contiguous(at::MemoryFormat::ChannelsLast);
  if (!joining_pays(weight)) return weight.contiguous(at::MemoryFormat::ChannelsLast3d);
  return weight.transpose(1, 2).flatten(1, 2).contiguous(at::MemoryFormat::ChannelsLast);
}

at::Tensor cudnn(const at::Tensor& x,
                 const at::Tensor& weight,
                 at::IntArrayRef stride,
                 at::IntArrayRef padding) {
  const at::IntArrayRef dilation = at::IntArrayRef(kDense).slice(0, stride.size());
  return at::cudnn_convolution(x, weight, padding, stride, dilation, /*groups=*/1,
                               /*benchmark=*/false, /*deterministic=*/true,
                               /*allow_tf32=*/x.scalar_type() == at::kBFloat16);
}

at::Tensor conv_in_any_layout(const at::Tensor& x_BCTHW,
                              const at::Tensor& weight,
                              const ConvShape& shape) {
  const at::IntArrayRef stride(shape.stride);
  const at::IntArrayRef padding(shape.padding);
  if (weight.dim() == 5) return cudnn(x_BCTHW, weight, stride, padding);
  const at::Tensor frames = x_BCTHW.transpose(1, 2).flatten(0, 1);
  return cudnn(frames, weight, stride.slice(1), padding.slice(1))
      .unflatten(0, {x_BCTHW.size(0), x_BCTHW.size(2)})
      .transpose(1, 2);
}

// The layout of a single frame is ambiguous to LibTorch, which then may leave channels last; of
// anything else nothing is copied.
at::Tensor conv_on_gpu(const at::Tensor& x_BCTHW,
                       const at::Tensor& weight,
                       const ConvShape& shape) {
  return conv_in_any_layout(x_BCTHW, weight, shape).contiguous(at::MemoryFormat::ChannelsLast3d);
}

at::Tensor conv_on_cpu(const at::Tensor& x_BCTHW,
                       const at::Tensor& weight,
                       const at::Tensor& bias,
                       const ConvShape& shape) {
  if (x_BCTHW.scalar_type() == at::kFloat && at::hasMKLDNN()) {
    // conv3d takes a loop sixteen times slower for a batch of one small clip.
    return at::mkldnn_convolution(x_BCTHW, weight, bias, shape.padding, shape.stride, kDense, 1);
  }
  return at::conv3d(x_BCTHW, weight, bias, shape.stride, shape.padding);
}

}  // namespace

void prepare_vae_weights(FrozenWeights& weights, at::MemoryFormat format, std::int64_t pixel) {
  const std::string input = kInputConv;
  if (weights.at(input + ".weight").is_cuda()) {
    weights.set(input + ".weight",
                video_patches_weight(weights.at(input + ".weight"), weights.at(input + ".bias"),
                                     {.pixel = pixel}));
  }
  std::vector<std::string> names;
  for (const auto& [name, tensor] : weights.tensors()) names.push_back(name);
  for (const std::string& name : names) {
    const at::Tensor& tensor = weights.at(name);
    if (name.ends_with(".gamma")) {
      weights.set(name, tensor.reshape({1, -1, 1, 1, 1}));
    } else if (name.ends_with(".weight") && tensor.is_cuda()) {
      if (tensor.dim() > 2) weights.set(name, gpu_weight(tensor));
    } else if (name.ends_with(".weight")) {
      // 2-D kernels act on each frame alone: a kernel of one frame.
      weights.set(name, (tensor.dim() == 4 ? tensor.unsqueeze(2) : tensor).contiguous(format));
    } else if (tensor.is_cuda()) {
      weights.set(name, tensor.to(accumulate_type(tensor.scalar_type())).reshape({1, -1, 1, 1, 1}));
    }
  }
}

bool joins_frames(const VaeContext& vae, const std::string& prefix) {
  return vae.weights.at(prefix + ".weight").dim() == 4;
}

ChannelTerms conv_terms(const VaeContext& vae,
                        const std::string& prefix,
                        const at::Tensor& x_BCTHW,
                        const ConvShape& shape) {
  const at::Tensor& weight = vae.weights.at(prefix + ".weight");
  const at::Tensor& bias = vae.weights.at(prefix + ".bias");
  if (x_BCTHW.is_cpu()) return {conv_on_cpu(x_BCTHW, weight, bias, shape), {}, {}};
  return {conv_on_gpu(x_BCTHW, weight, shape), bias, {}};
}

at::Tensor conv(const VaeContext& vae,
                const std::string& prefix,
                const at::Tensor& x_BCTHW,
                const ConvShape& shape) {
  return resolved(conv_terms(vae, prefix, x_BCTHW, shape));
}

at::Tensor point_conv(const VaeContext& vae, const std::string& prefix, const at::Tensor& x_BCTHW) {
  return conv(vae, prefix, x_BCTHW, {});
}

at::Tensor resolved(const ChannelTerms& terms) {
  if (terms.is_sum()) channel_sum(terms, terms.x_BCTHW);
  return terms.x_BCTHW;
}

}  // namespace wam
