#pragma once

#include <cstdint>
#include <string>

#include <ATen/core/Tensor.h>

#include "models/frozen/frozen_weights.h"

namespace wam {

// Source: VisionTransformer and CLIPModel, Wan2.1 wan/modules/clip.py @ 9737cba
// (clip_xlm_roberta_vit_h_14).
struct ClipConfig {
  std::int64_t image_size = 224;
  std::int64_t patch_size = 14;
  std::int64_t dim = 1280;
  std::int64_t feed_forward_dim = 5120;
  std::int64_t num_heads = 16;
  std::int64_t num_layers = 32;  // the last one is never run
  std::int64_t out_dim = 1024;   // of the head, which is never used

  static ClipConfig vit_h() { return {}; }
  // Two layers of width 64, the same picture and number of tokens.
  static ClipConfig tiny();

  // Class token and patches.
  [[nodiscard]] std::int64_t tokens() const {
    return 1 + (image_size / patch_size) * (image_size / patch_size);
  }
};

// Every tensor of the tower and the unused log_scale; names begin with "visual.". The text tower
// that the published file also holds is passed over.
FrozenModel clip_tensors(const ClipConfig& config);

// The frozen image tower: hidden states before the last block. Computes in the type and on the
// device of its weights; no call waits for the device.
//
// B batch · C channel · H W row, column · L token · D width
// Threads: const members may be called from any thread.
class ClipTower {
 public:
  // `weights` as load_frozen(clip_tensors(config), …) gives them.
  ClipTower(const ClipConfig& config, FrozenWeights weights);

  // image (B, 3, H, W) in [-1, 1], any size and float type, to (B, tokens(), D), class token first.
  [[nodiscard]] at::Tensor features(const at::Tensor& image_BCHW) const;
  // Its first part: bicubic resize to the square (no antialias, aspect ratio not kept, overshoot
  // not clamped) and normalisation, in fp32 (fp64 for fp64 weights), rounded once to the weights'
  // type.
  [[nodiscard]] at::Tensor preprocess(const at::Tensor& image_BCHW) const;
  // Its second part, from a preprocessed picture.
  [[nodiscard]] at::Tensor run(const at::Tensor& picture_BCHW) const;
  [[nodiscard]] const ClipConfig& config() const noexcept { return config_; }

 private:
  [[nodiscard]] at::Tensor attention(const std::string& block, const at::Tensor& x_BLD) const;
  [[nodiscard]] at::Tensor feed_forward(const std::string& block, const at::Tensor& x_BLD) const;
  [[nodiscard]] at::Tensor linear(const std::string& name, const at::Tensor& x_BLD) const;
  [[nodiscard]] at::Tensor norm(const std::string& name, const at::Tensor& x_BLD) const;

  ClipConfig config_;
  FrozenWeights weights_;
  at::ScalarType type_;
  at::Device device_;
  at::Tensor mean_1C11_;  // in the type of the preprocessing
  at::Tensor std_1C11_;
};

}  // namespace wam
