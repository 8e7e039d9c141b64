#include "models/vae/conv.h"

#include <vector>

#include <ATen/Context.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/conv3d.h>
#include <ATen/ops/cudnn_convolution.h>
#include <ATen/ops/mkldnn_convolution.h>

namespace wam {
namespace {

constexpr std::int64_t kInputChannels = 8;
constexpr ConvExtent kDense{1, 1, 1};

at::Tensor with_zero_channels(const at::Tensor& weight) {
  const std::int64_t missing = (kInputChannels - weight.size(1) % kInputChannels) % kInputChannels;
  return at::constant_pad_nd(weight, {0, 0, 0, 0, 0, 0, 0, missing}, 0);
}

at::Tensor conv_on_gpu(const at::Tensor& x_BCTHW,
                       const at::Tensor& weight,
                       const ConvShape& shape) {
  return at::cudnn_convolution(x_BCTHW, weight, shape.padding, shape.stride, kDense, /*groups=*/1,
                               /*benchmark=*/false, /*deterministic=*/true,
                               /*allow_tf32=*/x_BCTHW.scalar_type() == at::kBFloat16);
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

void prepare_vae_weights(FrozenWeights& weights, at::MemoryFormat format) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : weights.tensors()) names.push_back(name);
  for (const std::string& name : names) {
    at::Tensor tensor = weights.at(name);
    if (name.ends_with(".gamma")) {
      tensor = tensor.reshape({1, -1, 1, 1, 1});
    } else if (name.ends_with(".weight")) {
      // 2-D kernels act on each frame alone: a kernel of one frame.
      if (tensor.dim() == 4) tensor = tensor.unsqueeze(2);
      if (tensor.is_cuda() && name == "encoder.conv1.weight") tensor = with_zero_channels(tensor);
      tensor = tensor.contiguous(format);
    }
    weights.set(name, tensor);
  }
}

ChannelTerms conv_terms(const VaeContext& vae,
                        const std::string& prefix,
                        const at::Tensor& x_BCTHW,
                        const ConvShape& shape) {
  const at::Tensor& weight = vae.weights.at(prefix + ".weight");
  const at::Tensor& bias = vae.weights.at(prefix + ".bias");
  if (x_BCTHW.is_cpu()) return {conv_on_cpu(x_BCTHW, weight, bias, shape), {}, {}};
  return {conv_on_gpu(x_BCTHW, weight, shape), bias.reshape({1, -1, 1, 1, 1}), {}};
}

at::Tensor conv(const VaeContext& vae,
                const std::string& prefix,
                const at::Tensor& x_BCTHW,
                const ConvShape& shape) {
  return resolved(conv_terms(vae, prefix, x_BCTHW, shape));
}

at::Tensor point_conv(const VaeContext& vae, const std::string& prefix, const at::Tensor& x_BCTHW) {
  const at::Tensor& weight = vae.weights.at(prefix + ".weight");
  const at::Tensor& bias = vae.weights.at(prefix + ".bias");
  if (x_BCTHW.is_cpu()) return conv_on_cpu(x_BCTHW, weight, bias, {});
  const at::Tensor x_BTHWC = x_BCTHW.permute({0, 2, 3, 4, 1});
  const at::Tensor out_RC =
      at::addmm(bias, x_BTHWC.reshape({-1, x_BCTHW.size(1)}), weight.flatten(1).t());
  std::vector<std::int64_t> shape = x_BTHWC.sizes().vec();
  shape.back() = weight.size(0);
  return out_RC.view(shape).permute({0, 4, 1, 2, 3});
}

at::Tensor resolved(const ChannelTerms& terms) {
  if (terms.is_sum()) channel_sum(terms, terms.x_BCTHW);
  return terms.x_BCTHW;
}

}  // namespace wam
