#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/names.h"

namespace wam {

// i2v: the first frame is given as extra channels (Wan2.1-I2V-14B). ti2v: it is not, CLIP tokens
// and the clean first frame stand for it (Wan2.2-TI2V-5B).
enum class ModelType { kI2v, kTi2v };

template <>
struct EnumNames<ModelType> {
  static constexpr std::array table{std::pair{ModelType::kI2v, "i2v"},
                                    std::pair{ModelType::kTi2v, "ti2v"}};
};

// Every size of the world-action diffusion transformer.
// Source: DreamZero groot/vla/configs/model @ ab790c1; Wan2.1 @ 9737cba and Wan2.2 @ 42bf4cf.
struct WamConfig {
  std::string preset = "5b";
  ModelType type = ModelType::kTi2v;

  std::int64_t width = 3072;
  std::int64_t layers = 30;
  std::int64_t heads = 24;
  std::int64_t ffn_width = 14336;
  std::int64_t latent_channels = 48;
  std::int64_t frequency_width = 256;  // of the sinusoid of a timestep
  std::int64_t text_length = 512;
  std::int64_t text_width = 4096;
  std::int64_t clip_tokens = 257;
  std::int64_t clip_width = 1280;
  std::int64_t hidden_width = 1024;  // state encoder and action decoder
  std::int64_t action_width = 32;    // padded
  std::int64_t state_width = 64;     // padded
  std::int64_t actions_per_block = 24;
  std::int64_t max_blocks = 4;  // "max_chunk_size": the window of clean attention is 2 * this + 1
  double eps = 1e-6;            // layer norms and q/k norms of the transformer

  std::int64_t vae_stride = 16;      // pixels per latent row and column
  std::int64_t target_height = 160;  // pixels that the VAE sees
  std::int64_t target_width = 320;

  [[nodiscard]] std::int64_t head_width() const noexcept { return width / heads; }
  // Channels that the patch embedding sees: i2v adds a mask of 4 and the condition's latent.
  [[nodiscard]] std::int64_t input_channels() const noexcept {
    return type == ModelType::kI2v ? 2 * latent_channels + 4 : latent_channels;
  }
  [[nodiscard]] std::int64_t window_frames() const noexcept {
    return kFramesPerBlock * max_blocks + 1;
  }
  // Pictures of a full clip; a latent frame stands for four, but the first for one.
  [[nodiscard]] std::int64_t clip_frames() const noexcept { return 4 * (window_frames() - 1) + 1; }
  // Of the target picture, after the VAE and 2x2 patches; an odd latent row or column is dropped.
  [[nodiscard]] std::int64_t patch_rows() const noexcept { return target_height / vae_stride / 2; }
  [[nodiscard]] std::int64_t patch_columns() const noexcept {
    return target_width / vae_stride / 2;
  }
  // "frame_seqlen" in config.json.
  [[nodiscard]] std::int64_t tokens_per_frame() const noexcept {
    return patch_rows() * patch_columns();
  }

  static constexpr std::int64_t kFramesPerBlock = 2;
  static constexpr double kImageNormEps = 1e-5;

  bool operator==(const WamConfig&) const = default;
};

// "5b", "14b", "tiny-5b", "tiny-14b". Errors: ConfigError with the nearest name.
WamConfig wam_preset(const std::string& name);
std::vector<std::string> wam_preset_names();

// Errors: ConfigError that lists every size that does not fit another.
void check(const WamConfig& config);
// What keeps the kernels of a GPU from these sizes, in words; none: nothing does.
std::optional<std::string> kernel_size_problem(const WamConfig& config);

}  // namespace wam
