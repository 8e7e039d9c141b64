#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/frozen/frozen_weights.h"

namespace wam {

// Two published video VAEs share one code: the Wan2.1 VAE (16 channels, 4 x 8 x 8) and the Wan2.2
// VAE (48 channels, 4 x 16 x 16: 2 x 2 pixels go to channels first, and every level has an
// averaging shortcut). Source: Wan2.1 wan/modules/vae.py @ 9737cba, Wan2.2 wan/modules/vae2_2.py @
// 42bf4cf.
enum class VaeKind { kWan21, kWan22 };

struct VaeConfig {
  VaeKind kind = VaeKind::kWan21;
  std::int64_t dim = 96;          // channels of the encoder's first level (1, 2, 4, 4 times)
  std::int64_t z_dim = 16;        // latent channels
  std::int64_t decoder_dim = 96;  // channels of the decoder's last level
  // Mean and standard deviation of each latent channel, constants of the published models. Empty
  // (for random weights): measured by the VAE on moving shapes when it is built.
  std::vector<double> mean;
  std::vector<double> std;

  static VaeConfig wan21();
  static VaeConfig wan22();
  // Small ones for tests, the sample world and trials without a GPU.
  static VaeConfig tiny_wan21();
  static VaeConfig tiny_wan22();

  [[nodiscard]] std::int64_t patch() const { return kind == VaeKind::kWan22 ? 2 : 1; }
  [[nodiscard]] std::int64_t spatial_factor() const { return 8 * patch(); }
  // Latent frames of a clip of 1 + 4k frames.
  [[nodiscard]] static std::int64_t latent_frames(std::int64_t frames) {
    return 1 + (frames - 1) / 4;
  }
};

// What is loaded: the decoder (three quarters of the weights) only serves previews.
enum class VaeParts { kEncoder, kEncoderAndDecoder };

// Every tensor of the published file, `needed` where `parts` asks for it.
FrozenModel vae_tensors(const VaeConfig& config, VaeParts parts);

// ---- the network as a list of steps; tensors, encoder and decoder all walk it ----
enum class VaeStepKind { kResidual, kDown2d, kDown3d, kUp2d, kUp3d };

struct VaeStep {
  VaeStepKind kind;
  std::string prefix;
  std::int64_t in;
  std::int64_t out;
};

// Steps between which the Wan2.2 VAE adds its shortcut.
struct VaeLevel {
  std::vector<VaeStep> steps;
  std::int64_t in;
  std::int64_t out;
  bool resampled_in_space;
  bool resampled_in_time;
};

std::vector<VaeLevel> encoder_levels(const VaeConfig& config);
std::vector<VaeLevel> decoder_levels(const VaeConfig& config);

}  // namespace wam
