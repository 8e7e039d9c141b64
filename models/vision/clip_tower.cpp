#include "models/vision/clip_tower.h"

#include <array>
#include <cmath>
#include <utility>

#include <ATen/TensorOperators.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/upsample_bicubic2d.h>

#include <fmt/core.h>

#include "core/base/errors.h"
#include "core/ops/parameter.h"
#include "models/frozen/attention.h"

namespace wam {
namespace {

constexpr double kNormEpsilon = 1e-5;
// OpenAI CLIP's channel constants (RGB).
constexpr std::array<double, 3> kMean{0.48145466, 0.4578275, 0.40821073};
constexpr std::array<double, 3> kStd{0.26862954, 0.26130258, 0.27577711};

}  // namespace

ClipTower::ClipTower(const ClipConfig& config, FrozenWeights weights)
    : config_(config),
      weights_(std::move(weights)),
      type_(weights_.at("visual.cls_embedding").scalar_type()),
      device_(weights_.at("visual.cls_embedding").device()) {
  const auto constant = [&](const std::array<double, 3>& values) {
    return at::tensor(at::ArrayRef<double>(values), at::kDouble)
        .to(accumulate_type(type_))
        .view({1, 3, 1, 1})
        .to(device_);
  };
  mean_1C11_ = constant(kMean);
  std_1C11_ = constant(kStd);
}

at::Tensor ClipTower::features(const at::Tensor& image_BCHW) const {
  return run(preprocess(image_BCHW));
}

at::Tensor ClipTower::preprocess(const at::Tensor& image_BCHW) const {
  invariant(image_BCHW.dim() == 4 && image_BCHW.size(1) == 3, "CLIP wants pictures (B, 3, H, W)");
  at::Tensor x = image_BCHW.to(device_).to(accumulate_type(type_));
  x = at::upsample_bicubic2d(x, {config_.image_size, config_.image_size}, /*align_corners=*/false);
  x = x.mul_(0.5).add_(0.5).sub_(mean_1C11_).div_(std_1C11_);
  return x.to(type_);
}

at::Tensor ClipTower::run(const at::Tensor& picture_BCHW) const {
  const std::int64_t batch = picture_BCHW.size(0);
  const at::Tensor patch_BLD =
      at::conv2d(picture_BCHW, weights_.at("visual.patch_embedding.weight"), {},
                 {config_.patch_size, config_.patch_size})
          .flatten(2)
          .transpose(1, 2);
  const at::Tensor class_B1D = weights_.at("visual.cls_embedding").expand({batch, 1, config_.dim});
  at::Tensor x_BLD = at::cat({class_B1D, patch_BLD}, 1) + weights_.at("visual.pos_embedding");
  x_BLD = norm("visual.pre_norm", x_BLD);
  for (std::int64_t i = 0; i + 1 < config_.num_layers; ++i) {
    const std::string block = fmt::format("visual.transformer.{}.", i);
    x_BLD.add_(attention(block, norm(block + "norm1", x_BLD)));
    x_BLD.add_(feed_forward(block, norm(block + "norm2", x_BLD)));
  }
  return x_BLD;
}

at::Tensor ClipTower::attention(const std::string& block, const at::Tensor& x_BLD) const {
  const std::int64_t batch = x_BLD.size(0);
  const std::int64_t tokens = x_BLD.size(1);
  const std::int64_t width = config_.dim / config_.num_heads;
  // (B, L, 3, N, K) -> (3, B, N, L, K)
  const at::Tensor qkv = linear(block + "attn.to_qkv", x_BLD)
                             .view({batch, tokens, 3, config_.num_heads, width})
                             .permute({2, 0, 3, 1, 4});
  const auto part = [&](std::int64_t i) {
    return qkv.select(0, i).reshape({batch * config_.num_heads, tokens, width});
  };
  const at::Tensor mixed_BLD =
      frozen_attention(part(0), part(1), part(2), 1.0 / std::sqrt(static_cast<double>(width)))
          .view({batch, config_.num_heads, tokens, width})
          .transpose(1, 2)
          .reshape({batch, tokens, config_.dim});
  return linear(block + "attn.proj", mixed_BLD);
}

at::Tensor ClipTower::feed_forward(const std::string& block, const at::Tensor& x_BLD) const {
  return linear(block + "mlp.2", at::gelu(linear(block + "mlp.0", x_BLD), "none"));
}

at::Tensor ClipTower::linear(const std::string& name, const at::Tensor& x_BLD) const {
  const at::Tensor y_RE = at::addmm(weights_.at(name + ".bias"), x_BLD.flatten(0, 1),
                                    weights_.at(name + ".weight").t());
  return y_RE.view({x_BLD.size(0), x_BLD.size(1), -1});
}

// Statistics in fp32, the result in the type of x.
at::Tensor ClipTower::norm(const std::string& name, const at::Tensor& x_BLD) const {
  return at::layer_norm(x_BLD, {config_.dim}, weights_.at(name + ".weight"),
                        weights_.at(name + ".bias"), kNormEpsilon);
}

}  // namespace wam
