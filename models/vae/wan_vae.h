#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "models/frozen/frozen_weights.h"
#include "models/vae/config.h"
#include "models/vae/latent_statistics.h"

namespace wam {

// A frozen video VAE: pixels to normalised latents, and back for previews. Computes in the type and
// on the device of its weights; no call waits for the device.
//
// B batch · C channel · T frame, T = 1 + 4k · H W multiples of spatial_factor() ·
// F Y X latent frame, row, column: 1 + k, H and W over spatial_factor()
// Threads: const members may be called from any thread.
class WanVae {
 public:
  // The largest activation that one pass may make; about four of its size are alive at once (and,
  // in bf16 on a CPU, two in fp32). Batches, and then clips, are worked off in pieces that keep to
  // it (at the least five frames of one clip), with the same result.
  struct Limits {
    std::int64_t max_elements = 0;  // 0: 2^31 / 3 on a GPU; 2^20 on a CPU, to stay in its cache
  };

  // `weights` as load_frozen(vae_tensors(config, parts), …) gives them.
  WanVae(VaeConfig config, FrozenWeights weights, const Limits& limits);
  WanVae(VaeConfig config, FrozenWeights weights);

  // video (B, 3, T, H, W) in [-1, 1], any float type, to latent (B, z, F, Y, X): (mu - mean) / std,
  // mean and 1 / std rounded to the working type first, as DreamZero does. Nothing is sampled.
  // Errors: InvariantError for a shape that does not divide.
  [[nodiscard]] at::Tensor encode(const at::Tensor& video_BCTHW) const;
  // The same of clips that are image (B, 3, H, W) followed by frames of zeros (grey), `frames` = 1
  // + 4k in all: equal frames are computed once. Of the 37.7 TFLOP of the Wan2.1 VAE for 33 x 352 x
  // 640, 21 are left.
  [[nodiscard]] at::Tensor encode_first_frame(const at::Tensor& image_BCHW,
                                              std::int64_t frames) const;
  // latent as `encode` gives it, to video in [-1, 1]. Needs VaeParts::kEncoderAndDecoder.
  [[nodiscard]] at::Tensor decode(const at::Tensor& latent_BCFYX) const;
  // The same before the clamp to [-1, 1].
  [[nodiscard]] at::Tensor decode_unclamped(const at::Tensor& latent_BCFYX) const;

  // mu before normalisation.
  [[nodiscard]] at::Tensor mu(const at::Tensor& video_BCTHW) const;

  // The config with its mean and std, measured ones included.
  [[nodiscard]] const VaeConfig& config() const noexcept { return config_; }

 private:
  void measure_statistics();
  void place_statistics();
  void check_clip(const at::Tensor& picture, std::int64_t frames) const;
  [[nodiscard]] std::int64_t elements_per_frame(const at::Tensor& picture) const;
  [[nodiscard]] at::Tensor normalised(const at::Tensor& mu_BCFYX) const;
  [[nodiscard]] at::Tensor encode_pieces(const at::Tensor& video_BCTHW) const;
  [[nodiscard]] at::Tensor encode_still(const at::Tensor& image_BCHW, std::int64_t frames) const;
  // `encode_some` of as many clips at a time as the limits allow.
  template <class EncodeSome>
  [[nodiscard]] at::Tensor by_clips(const at::Tensor& clips,
                                    std::int64_t elements_per_clip,
                                    const EncodeSome& encode_some) const;

  VaeConfig config_;
  FrozenWeights weights_;
  Limits limits_;
  at::ScalarType type_;
  at::Device device_;
  at::MemoryFormat format_;
  at::Tensor mean_1C111_;
  at::Tensor inverse_std_1C111_;
};

}  // namespace wam
