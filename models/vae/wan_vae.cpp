#include "models/vae/wan_vae.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/tensor_split.h>
#include <ATen/ops/zeros_like.h>

#include "core/base/errors.h"
#include "models/vae/layers.h"
#include "models/vae/network.h"

namespace wam {
namespace {

// Three frames side by side stay below 2^31, where cuDNN's indices end.
constexpr std::int64_t kGpuPass = (std::int64_t{1} << 31) / 3;
constexpr std::int64_t kCpuPass = std::int64_t{1} << 20;
// Enough positions for a stable figure, small enough to take no time.
constexpr std::int64_t kMeasuredClips = 16;
constexpr std::int64_t kMeasuredFrames = 9;
constexpr std::int64_t kMeasuredSize = 64;
// Of a picture followed by grey: what the input convolution, which looks back two frames, makes of
// the fourth frame it makes of all later ones.
constexpr std::int64_t kFramesToStill = 4;

const at::Tensor& any_weight(const FrozenWeights& weights) {
  return weights.at("encoder.conv1.weight");
}

// cuDNN's 3-D convolutions want channels last.
at::MemoryFormat format_for(const at::Tensor& weight) {
  return weight.is_cuda() ? at::MemoryFormat::ChannelsLast3d : at::MemoryFormat::Contiguous;
}

// (1, C, 1, 1, 1). In bf16 the value is rounded from float32, as the reference's constants are.
at::Tensor channel_constant(const std::vector<double>& values,
                            at::ScalarType type,
                            at::Device device) {
  return at::tensor(values, at::kDouble)
      .to(type == at::kDouble ? at::kDouble : at::kFloat)
      .reshape({1, -1, 1, 1, 1})
      .to(device);
}

}  // namespace

WanVae::WanVae(VaeConfig config, FrozenWeights weights)
    : WanVae(std::move(config), std::move(weights), Limits{}) {}

WanVae::WanVae(VaeConfig config, FrozenWeights weights, const Limits& limits)
    : config_(std::move(config)),
      weights_(std::move(weights)),
      limits_(limits),
      type_(any_weight(weights_).scalar_type()),
      device_(any_weight(weights_).device()),
      format_(format_for(any_weight(weights_))) {
  if (limits_.max_elements == 0) limits_.max_elements = device_.is_cuda() ? kGpuPass : kCpuPass;
  invariant(config_.mean.size() == config_.std.size(), "latent mean and std differ in length");
  if (config_.mean.empty()) measure_statistics();
  invariant(static_cast<std::int64_t>(config_.mean.size()) == config_.z_dim,
            "one latent mean and std per channel");
  prepare_vae_weights(weights_, format_, config_.patch());
  place_statistics();
}

// On the CPU in float32 whatever the weights' place, so that a GPU run has the same constants.
void WanVae::measure_statistics() {
  FrozenWeights host;
  for (const auto& [name, tensor] : weights_.tensors()) {
    if (!name.starts_with("decoder.")) host.set(name, tensor.to(at::kCPU).to(at::kFloat));
  }
  VaeConfig neutral = config_;
  neutral.mean.assign(static_cast<std::size_t>(config_.z_dim), 0.0);
  neutral.std.assign(static_cast<std::size_t>(config_.z_dim), 1.0);
  const WanVae vae(neutral, host);
  const LatentStatistics found =
      latent_statistics(vae.mu(moving_shapes(kMeasuredClips, kMeasuredFrames, kMeasuredSize)));
  config_.mean = found.mean;
  config_.std = found.std;
}

void WanVae::place_statistics() {
  mean_1C111_ = channel_constant(config_.mean, type_, device_).to(type_);
  inverse_std_1C111_ = channel_constant(config_.std, type_, device_).reciprocal_().to(type_);
}

at::Tensor WanVae::normalised(const at::Tensor& mu_BCFYX) const {
  return mu_BCFYX.sub_(mean_1C111_).mul_(inverse_std_1C111_);
}

at::Tensor WanVae::encode(const at::Tensor& video_BCTHW) const {
  return normalised(mu(video_BCTHW));
}

void WanVae::check_clip(const at::Tensor& picture, std::int64_t frames) const {
  const std::int64_t factor = config_.spatial_factor();
  require<InvariantError>(
      picture.size(1) == 3 && frames % 4 == 1 && picture.size(-2) % factor == 0 &&
          picture.size(-1) % factor == 0,
      "a video of shape {} cannot be encoded: expected [B, 3, 1 + 4k, H, W] "
      "with H and W multiples "
      "of {}",
      shape_text({picture.size(0), picture.size(1), frames, picture.size(-2), picture.size(-1)}),
      factor);
}

std::int64_t WanVae::elements_per_frame(const at::Tensor& picture) const {
  return config_.dim * picture.size(-2) * picture.size(-1) / (config_.patch() * config_.patch());
}

template <class EncodeSome>
at::Tensor WanVae::by_clips(const at::Tensor& clips,
                            std::int64_t elements_per_clip,
                            const EncodeSome& encode_some) const {
  const std::int64_t most = std::max<std::int64_t>(1, limits_.max_elements / elements_per_clip);
  // Passes of about the same size.
  const std::int64_t passes = (clips.size(0) + most - 1) / most;
  std::vector<at::Tensor> out;
  for (const at::Tensor& some : clips.tensor_split(passes)) {
    out.push_back(encode_some(some.to(device_).to(type_)));
  }
  return out.size() == 1 ? out.front().contiguous() : at::cat(out).contiguous();
}

at::Tensor WanVae::mu(const at::Tensor& video_BCTHW) const {
  invariant(video_BCTHW.dim() == 5, "a video has five dimensions");
  const std::int64_t frames = video_BCTHW.size(2);
  check_clip(video_BCTHW, frames);
  return by_clips(video_BCTHW, elements_per_frame(video_BCTHW) * frames,
                  [&](const at::Tensor& some) { return encode_pieces(some); });
}

at::Tensor WanVae::encode_pieces(const at::Tensor& video_BCTHW) const {
  const VaeContext context{weights_, format_};
  const std::int64_t frames = video_BCTHW.size(2);
  const std::int64_t in_a_piece = std::min(
      frames, std::max<std::int64_t>(5, limits_.max_elements / elements_per_frame(video_BCTHW)));
  ClipMemory memory = in_a_piece < frames ? ClipMemory::pieces() : ClipMemory::whole();
  std::vector<at::Tensor> out;
  // Frame 0 and groups of four frames stay whole.
  std::int64_t end = 0;
  while (end < frames) {
    const std::int64_t groups = std::max<std::int64_t>(1, (in_a_piece - 1) / 4);
    const std::int64_t begin = end;
    end = std::min(frames, begin + (begin == 0 ? 1 : 0) + 4 * groups);
    out.push_back(vae_encode_chunk(config_, context, video_BCTHW.slice(2, begin, end), memory));
  }
  return out.size() == 1 ? out.front() : at::cat(out, 2);
}

at::Tensor WanVae::encode_first_frame(const at::Tensor& image_BCHW, std::int64_t frames) const {
  invariant(image_BCHW.dim() == 4, "a picture has four dimensions");
  check_clip(image_BCHW, frames);
  return normalised(by_clips(image_BCHW, elements_per_frame(image_BCHW) * frames,
                             [&](const at::Tensor& some) { return encode_still(some, frames); }));
}

at::Tensor WanVae::encode_still(const at::Tensor& image_BCHW, std::int64_t frames) const {
  const at::Tensor image_BC1HW = image_BCHW.unsqueeze(2);
  at::Tensor grey = at::zeros_like(image_BC1HW);
  std::vector<at::Tensor> video(static_cast<std::size_t>(std::min(frames, kFramesToStill)), grey);
  video.front() = image_BC1HW;
  ClipMemory memory = ClipMemory::still_end(frames);
  const at::Tensor latent =
      vae_encode_chunk(config_, {weights_, format_}, at::cat(video, 2), memory);
  return memory.drawn_out(latent, VaeConfig::latent_frames(frames));
}

at::Tensor WanVae::decode_unclamped(const at::Tensor& latent_BCFYX) const {
  require<InvariantError>(latent_BCFYX.dim() == 5 && latent_BCFYX.size(1) == config_.z_dim,
                          "latents of shape {} cannot be decoded: expected [B, {}, F, Y, X]",
                          shape_text(latent_BCFYX.sizes().vec()), config_.z_dim);
  const VaeContext context{weights_, format_};
  std::vector<at::Tensor> out;
  // One clip at a time: previews are few, and a decoder's activations are large.
  for (const at::Tensor& one : latent_BCFYX.to(device_).to(type_).split(1)) {
    const at::Tensor z_BCFYX = one / inverse_std_1C111_ + mean_1C111_;
    out.push_back(vae_decode_clip(config_, context, z_BCFYX).contiguous());
  }
  return out.size() == 1 ? out.front() : at::cat(out);
}

at::Tensor WanVae::decode(const at::Tensor& latent_BCFYX) const {
  return decode_unclamped(latent_BCFYX).clamp_(-1, 1);
}

}  // namespace wam
