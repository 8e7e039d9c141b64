#include "models/vae/config.h"

#include <array>
#include <cmath>
#include <utility>

#include <fmt/core.h>

namespace wam {
namespace {

constexpr std::array<std::int64_t, 4> kMultipliers{1, 2, 4, 4};
constexpr std::array<bool, 4> kDownInTime{false, true, true, false};
constexpr std::array<bool, 4> kUpInTime{true, true, false, false};
constexpr std::size_t kLevels = 4;
constexpr std::size_t kEncoderResiduals = 2;
constexpr std::size_t kDecoderResiduals = 3;

// How random weights are drawn. Branches that are added to their input are small and layers that
// change its size pass it on: latents of a random VAE then hold what the picture shows, as those of
// a trained one do (a linear fit finds an object's place in them), where plain noise loses it.
struct Draw {
  double gain = 1.0;  // standard deviation of a weight times the root of its fan-in
  double identity = 0.0;
  double bias = 0.1;
};
constexpr Draw kPlain{};
constexpr Draw kBranch{.gain = 0.3, .bias = 0.03};
constexpr Draw kPassOn{.gain = 0.5, .identity = 1.0, .bias = 0.03};

class TensorList {
 public:
  void conv(const std::string& prefix, std::vector<std::int64_t> shape, const Draw& draw) {
    double fan_in = 1;
    for (std::size_t d = 1; d < shape.size(); ++d) fan_in *= static_cast<double>(shape[d]);
    const std::int64_t out = shape.front();
    tensors_.push_back({.name = prefix + ".weight",
                        .shape = std::move(shape),
                        .random_std = draw.gain / std::sqrt(fan_in),
                        .needed = needed_,
                        .random_identity = draw.identity});
    tensors_.push_back(
        {.name = prefix + ".bias", .shape = {out}, .random_std = draw.bias, .needed = needed_});
  }
  void gamma(const std::string& name, std::vector<std::int64_t> shape) {
    tensors_.push_back(
        {.name = name, .shape = std::move(shape), .random_mean = 1.0, .needed = needed_});
  }
  void residual(const std::string& prefix, std::int64_t in, std::int64_t out) {
    gamma(prefix + ".residual.0.gamma", {in, 1, 1, 1});
    conv(prefix + ".residual.2", {out, in, 3, 3, 3}, kPlain);
    gamma(prefix + ".residual.3.gamma", {out, 1, 1, 1});
    conv(prefix + ".residual.6", {out, out, 3, 3, 3}, kBranch);
    if (in != out) conv(prefix + ".shortcut", {out, in, 1, 1, 1}, kPassOn);
  }
  void step(const VaeStep& s) {
    if (s.kind == VaeStepKind::kResidual) {
      residual(s.prefix, s.in, s.out);
      return;
    }
    conv(s.prefix + ".resample.1", {s.out, s.in, 3, 3}, kPassOn);
    const std::int64_t frames = s.kind == VaeStepKind::kUp3d ? 2 : 1;
    if (s.kind == VaeStepKind::kDown3d || s.kind == VaeStepKind::kUp3d) {
      conv(s.prefix + ".time_conv", {frames * s.in, s.in, 3, 1, 1}, kPassOn);
    }
  }
  void middle(const std::string& prefix, std::int64_t width) {
    residual(prefix + ".0", width, width);
    gamma(prefix + ".1.norm.gamma", {width, 1, 1});
    conv(prefix + ".1.to_qkv", {3 * width, width, 1, 1}, kPlain);
    conv(prefix + ".1.proj", {width, width, 1, 1}, kBranch);
    residual(prefix + ".2", width, width);
  }
  void head(const std::string& prefix, std::int64_t width, std::int64_t out) {
    gamma(prefix + ".0.gamma", {width, 1, 1, 1});
    conv(prefix + ".2", {out, width, 3, 3, 3}, kPlain);
  }
  void mark_needed(bool needed) { needed_ = needed; }
  std::vector<FrozenTensor> take() { return std::move(tensors_); }

 private:
  std::vector<FrozenTensor> tensors_;
  bool needed_ = true;
};

// Keys count through all steps in the Wan2.1 file, per level in the Wan2.2 file.
class StepNames {
 public:
  StepNames(const VaeConfig& config, std::string folder, std::string steps)
      : nested_(config.kind == VaeKind::kWan22),
        folder_(std::move(folder)),
        steps_(std::move(steps)) {}
  std::string next(std::size_t level) {
    if (level != level_) in_level_ = 0;
    level_ = level;
    const std::size_t flat = all_++;
    const std::size_t inner = in_level_++;
    if (nested_) return fmt::format("{}.{}.{}.{}.{}", folder_, steps_, level, steps_, inner);
    return fmt::format("{}.{}.{}", folder_, steps_, flat);
  }

 private:
  bool nested_;
  std::string folder_;
  std::string steps_;
  std::size_t level_ = 0;
  std::size_t in_level_ = 0;
  std::size_t all_ = 0;
};

}  // namespace

VaeConfig VaeConfig::wan21() {
  return {.kind = VaeKind::kWan21,
          .dim = 96,
          .z_dim = 16,
          .decoder_dim = 96,
          .mean = {-0.7571, -0.7089, -0.9113, 0.1075, -0.1745, 0.9653, -0.1517, 1.5508, 0.4134,
                   -0.0715, 0.5517, -0.3632, -0.1922, -0.9497, 0.2503, -0.2921},
          .std = {2.8184, 1.4541, 2.3275, 2.6558, 1.2196, 1.7708, 2.6052, 2.0743, 3.2687, 2.1526,
                  2.8652, 1.5579, 1.6382, 1.1253, 2.8251, 1.9160}};
}

VaeConfig VaeConfig::wan22() {
  return {.kind = VaeKind::kWan22,
          .dim = 160,
          .z_dim = 48,
          .decoder_dim = 256,
          .mean = {-0.2289, -0.0052, -0.1323, -0.2339, -0.2799, 0.0174,  0.1838,  0.1557,
                   -0.1382, 0.0542,  0.2813,  0.0891,  0.1570,  -0.0098, 0.0375,  -0.1825,
                   -0.2246, -0.1207, -0.0698, 0.5109,  0.2665,  -0.2108, -0.2158, 0.2502,
                   -0.2055, -0.0322, 0.1109,  0.1567,  -0.0729, 0.0899,  -0.2799, -0.1230,
                   -0.0313, -0.1649, 0.0117,  0.0723,  -0.2839, -0.2083, -0.0520, 0.3748,
                   0.0152,  0.1957,  0.1433,  -0.2944, 0.3573,  -0.0548, -0.1681, -0.0667},
          .std = {0.4765, 1.0364, 0.4514, 1.1677, 0.5313, 0.4990, 0.4818, 0.5013, 0.8158, 1.0344,
                  0.5894, 1.0901, 0.6885, 0.6165, 0.8454, 0.4978, 0.5759, 0.3523, 0.7135, 0.6804,
                  0.5833, 1.4146, 0.8986, 0.5659, 0.7069, 0.5338, 0.4889, 0.4917, 0.4069, 0.4999,
                  0.6866, 0.4093, 0.5709, 0.6065, 0.6415, 0.4944, 0.5726, 1.2042, 0.5458, 1.6887,
                  0.3971, 1.0600, 0.3943, 0.5537, 0.5444, 0.4089, 0.7468, 0.7744}};
}

VaeConfig VaeConfig::tiny_wan21() {
  return {.kind = VaeKind::kWan21, .dim = 4, .z_dim = 16, .decoder_dim = 4, .mean = {}, .std = {}};
}

VaeConfig VaeConfig::tiny_wan22() {
  return {.kind = VaeKind::kWan22, .dim = 8, .z_dim = 48, .decoder_dim = 16, .mean = {}, .std = {}};
}

std::vector<VaeLevel> encoder_levels(const VaeConfig& config) {
  StepNames names(config, "encoder", "downsamples");
  std::vector<VaeLevel> out;
  std::int64_t in = config.dim;
  for (std::size_t i = 0; i < kLevels; ++i) {
    const std::int64_t width = config.dim * kMultipliers[i];
    const bool down = i + 1 < kLevels;
    VaeLevel level{{}, in, width, down, kDownInTime[i]};
    for (std::size_t j = 0; j < kEncoderResiduals; ++j) {
      level.steps.push_back({VaeStepKind::kResidual, names.next(i), j == 0 ? in : width, width});
    }
    if (down) {
      const auto kind = kDownInTime[i] ? VaeStepKind::kDown3d : VaeStepKind::kDown2d;
      level.steps.push_back({kind, names.next(i), width, width});
    }
    in = width;
    out.push_back(std::move(level));
  }
  return out;
}

std::vector<VaeLevel> decoder_levels(const VaeConfig& config) {
  StepNames names(config, "decoder", "upsamples");
  std::vector<VaeLevel> out;
  std::int64_t in = config.decoder_dim * kMultipliers.back();
  for (std::size_t i = 0; i < kLevels; ++i) {
    const std::int64_t width = config.decoder_dim * kMultipliers[kLevels - 1 - i];
    const bool up = i + 1 < kLevels;
    // The upsamplers of the Wan2.1 VAE halve the channels, those of the Wan2.2 VAE keep them.
    const std::int64_t end = up && config.kind == VaeKind::kWan21 ? width / 2 : width;
    VaeLevel level{{}, in, end, up, kUpInTime[i]};
    for (std::size_t j = 0; j < kDecoderResiduals; ++j) {
      level.steps.push_back({VaeStepKind::kResidual, names.next(i), j == 0 ? in : width, width});
    }
    if (up) {
      const auto kind = kUpInTime[i] ? VaeStepKind::kUp3d : VaeStepKind::kUp2d;
      level.steps.push_back({kind, names.next(i), width, end});
    }
    in = end;
    out.push_back(std::move(level));
  }
  return out;
}

FrozenModel vae_tensors(const VaeConfig& config, VaeParts parts) {
  const std::int64_t pixel = 3 * config.patch() * config.patch();
  const std::int64_t encoder_top = config.dim * kMultipliers.back();
  const std::int64_t decoder_top = config.decoder_dim * kMultipliers.back();
  const std::int64_t z = config.z_dim;
  TensorList list;
  list.conv("encoder.conv1", {config.dim, pixel, 3, 3, 3}, kPlain);
  for (const VaeLevel& level : encoder_levels(config)) {
    for (const VaeStep& step : level.steps) list.step(step);
  }
  list.middle("encoder.middle", encoder_top);
  list.head("encoder.head", encoder_top, 2 * z);
  list.conv("conv1", {2 * z, 2 * z, 1, 1, 1}, kPassOn);
  list.mark_needed(parts == VaeParts::kEncoderAndDecoder);
  list.conv("conv2", {z, z, 1, 1, 1}, kPassOn);
  list.conv("decoder.conv1", {decoder_top, z, 3, 3, 3}, kPlain);
  list.middle("decoder.middle", decoder_top);
  for (const VaeLevel& level : decoder_levels(config)) {
    for (const VaeStep& step : level.steps) list.step(step);
  }
  list.head("decoder.head", config.decoder_dim, pixel);
  return {.what = config.kind == VaeKind::kWan21 ? "Wan2.1 VAE" : "Wan2.2 VAE",
          .tensors = list.take(),
          .ignored_prefixes = {}};
}

}  // namespace wam
