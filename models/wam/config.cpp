#include "models/wam/config.h"

#include <fmt/format.h>

#include "core/base/errors.h"
#include "core/base/names.h"
#include "core/cuda/kernel.h"
#include "core/ops/layer_norm/layer_norm.h"

namespace wam {
namespace {

WamConfig preset_5b() {
  return {};
}

WamConfig preset_14b() {
  WamConfig c;
  c.preset = "14b";
  c.type = ModelType::kI2v;
  c.width = 5120;
  c.layers = 40;
  c.heads = 40;
  c.ffn_width = 13824;
  c.latent_channels = 16;
  c.vae_stride = 8;
  c.target_height = 352;
  c.target_width = 640;
  return c;
}

// Sizes for tests and for learning on a CPU: three 32x64 views in a 64x128 mosaic, eight actions a
// block. Real geometry in every other respect.
WamConfig tiny(WamConfig c) {
  c.preset = "tiny-" + c.preset;
  c.width = 96;
  c.layers = 2;
  c.heads = 4;
  c.ffn_width = 256;
  c.frequency_width = 64;
  c.text_width = 64;
  c.clip_tokens = 257;
  c.clip_width = 64;
  c.hidden_width = 64;
  c.actions_per_block = 8;
  c.target_height = 64;
  c.target_width = 128;
  return c;
}

std::vector<std::string> sizes_below_one(const WamConfig& c) {
  std::vector<std::string> problems;
  for (const auto& [key, value] :
       std::vector<std::pair<const char*, std::int64_t>>{{"width", c.width},
                                                         {"layers", c.layers},
                                                         {"heads", c.heads},
                                                         {"ffn_width", c.ffn_width},
                                                         {"latent_channels", c.latent_channels},
                                                         {"text_length", c.text_length},
                                                         {"text_width", c.text_width},
                                                         {"clip_tokens", c.clip_tokens},
                                                         {"clip_width", c.clip_width},
                                                         {"hidden_width", c.hidden_width},
                                                         {"action_width", c.action_width},
                                                         {"state_width", c.state_width},
                                                         {"actions_per_block", c.actions_per_block},
                                                         {"max_blocks", c.max_blocks},
                                                         {"vae_stride", c.vae_stride}}) {
    if (value < 1) problems.push_back(fmt::format("model: {} is {}. Fix: at least 1.", key, value));
  }
  return problems;
}

}  // namespace

std::vector<std::string> wam_preset_names() {
  return {"5b", "14b", "tiny-5b", "tiny-14b"};
}

WamConfig wam_preset(const std::string& name) {
  if (name == "5b") return preset_5b();
  if (name == "14b") return preset_14b();
  if (name == "tiny-5b") return tiny(preset_5b());
  if (name == "tiny-14b") return tiny(preset_14b());
  const auto near = nearest_name(name, wam_preset_names());
  throw ConfigError(fmt::format("model.preset: there is no preset \"{}\". Fix: use {}.", name,
                                near ? *near : join(wam_preset_names(), " or ")));
}

void check(const WamConfig& c) {
  std::vector<std::string> problems = sizes_below_one(c);
  if (!problems.empty()) throw ConfigError::of(problems);
  if (c.width % c.heads != 0 || c.head_width() % 2 != 0 || c.head_width() < 6) {
    problems.push_back(fmt::format(
        "model: width {} over {} heads leaves no even head width of at least 6 (rotary embedding "
        "pairs channels and splits them over time, rows and columns). Fix: width = heads * 128, "
        "for example.",
        c.width, c.heads));
  }
  if (c.width % 2 != 0 || c.frequency_width % 2 != 0 || c.frequency_width < 2) {
    problems.push_back(
        fmt::format("model: width {} and frequency_width {} hold sines and cosines. Fix: make "
                    "both even.",
                    c.width, c.frequency_width));
  }
  if (c.width % kVectorElements != 0) {
    problems.push_back(
        fmt::format("model: width {} is no multiple of {}: the weights of q, k and v would not lie "
                    "together for their one product. Fix: width = heads * 128, for example.",
                    c.width, kVectorElements));
  }
  if (c.tokens_per_frame() < 1) {
    problems.push_back(fmt::format(
        "model: a target of {}x{} pixels gives {}x{} patches at VAE stride {}. Fix: at least {} "
        "pixels in both.",
        c.target_height, c.target_width, c.patch_rows(), c.patch_columns(), c.vae_stride,
        2 * c.vae_stride));
  }
  if (!problems.empty()) throw ConfigError::of(problems);
}

std::optional<std::string> kernel_size_problem(const WamConfig& c) {
  std::vector<std::string> found;
  const auto refuse_unless = [&](bool fits, const char* name, std::int64_t value) {
    if (!fits) found.push_back(fmt::format("{} {}", name, value));
  };
  refuse_unless(c.width % kVectorElements == 0 && c.width <= kLayerNormMaxWidth, "width", c.width);
  if (c.heads > 0 && c.width % c.heads == 0) {  // else `check` has refused them
    refuse_unless(c.head_width() % kVectorElements == 0, "head width", c.head_width());
  }
  refuse_unless(c.ffn_width % kVectorElements == 0, "feed-forward width", c.ffn_width);
  if (found.empty()) return {};
  return fmt::format("{}: the kernels of a GPU want multiples of {}, and a width of at most {}",
                     join(found), kVectorElements, kLayerNormMaxWidth);
}

}  // namespace wam
