#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/cuda/CUDAGraph.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/zeros_like.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "core/cuda/device.h"
#include "models/vae/wan_vae.h"
#include "test/support/catch.h"

namespace wam {
namespace {

// The tiny ones, and widths for which frames stand side by side (96, 320) besides others.
std::vector<VaeConfig> configs() {
  VaeConfig wan21 = VaeConfig::tiny_wan21();
  wan21.dim = 96;
  VaeConfig wan22 = VaeConfig::tiny_wan22();
  wan22.dim = 80;
  return {VaeConfig::tiny_wan21(), VaeConfig::tiny_wan22(), wan21, wan22};
}

// The same numbers whatever the type: drawn in bf16.
WanVae random_vae(const VaeConfig& config,
                  const FrozenPlacement& placement,
                  VaeParts parts = VaeParts::kEncoder,
                  std::int64_t max_elements = 0) {
  const FrozenModel model = vae_tensors(config, parts);
  std::map<std::string, at::Tensor> tensors;
  for (const FrozenTensor& t : model.tensors) {
    if (t.needed) tensors.emplace(t.name, random_frozen(t, 7, at::kBFloat16));
  }
  return {config, given_frozen(model, tensors, placement), {.max_elements = max_elements}};
}

at::Tensor clips(const VaeConfig& config) {
  return moving_shapes(2, 13, 2 * config.spatial_factor()).to(at::kBFloat16);
}

double relative_error(const at::Tensor& found, const at::Tensor& expected) {
  const at::Tensor difference = found.to(at::kCPU).to(at::kDouble) - expected;
  return (difference.square().mean().sqrt() / expected.square().mean().sqrt()).item<double>();
}

// Of the root mean square. Every layer rounds to bf16, or in fp32 the partial sums of up to 27 *
// 128 products; errors of 24 layers in a row add up like a random walk, and normalisation by 1/std
// enlarges what is left by the ratio of mu's spread about zero to that about its mean.
double limit(at::ScalarType type) {
  const double layer = type == at::kBFloat16 ? 0x1p-9 : 0x1p-24 * std::sqrt(27.0 * 384);
  return 8 * layer * std::sqrt(24.0);
}

}  // namespace

TEST_CASE("Video VAE on a GPU: latents equal those of the CPU in double, and repeat bit for bit") {
  if (!gpu_available()) {
    std::puts("SKIPPED: no GPU");
    return;
  }
  for (const VaeConfig& config : configs()) {
    const at::Tensor video = clips(config);
    const WanVae reference = random_vae(config, {at::kCPU, at::kDouble});
    const at::Tensor expected = reference.encode(video);
    const at::Tensor still = reference.encode_first_frame(video.select(2, 0), 13);
    for (const at::ScalarType type : {at::kBFloat16, at::kFloat}) {
      INFO("dim " << config.dim << ", z " << config.z_dim << ", " << c10::toString(type));
      const WanVae vae = random_vae(reference.config(), {at::kCUDA, type});

      const at::Tensor latent = vae.encode(video);

      CHECK(relative_error(latent, expected) < limit(type));
      CHECK(at::equal(vae.encode(video), latent));
      const at::Tensor first = vae.encode_first_frame(video.select(2, 0), 13);
      CHECK(relative_error(first, still) < limit(type));
      CHECK(at::equal(vae.encode_first_frame(video.select(2, 0), 13), first));
    }
  }
}

TEST_CASE("Video VAE on a GPU: pieces of a clip give the latents of the whole") {
  if (!gpu_available()) {
    std::puts("SKIPPED: no GPU");
    return;
  }
  for (const VaeConfig& config : configs()) {
    const at::Tensor video = clips(config);
    const WanVae vae = random_vae(config, {at::kCUDA, at::kFloat});
    const at::Tensor whole = vae.encode(video);
    // Five frames of one clip at a time.
    const WanVae bounded = random_vae(vae.config(), {at::kCUDA, at::kFloat}, VaeParts::kEncoder, 1);

    const double error = relative_error(bounded.encode(video), whole.to(at::kCPU).to(at::kDouble));

    CHECK(error < limit(at::kFloat));
  }
}

TEST_CASE("Video VAE on a GPU: previews equal those of the CPU in double") {
  if (!gpu_available()) {
    std::puts("SKIPPED: no GPU");
    return;
  }
  for (const VaeConfig& config : configs()) {
    const auto both = VaeParts::kEncoderAndDecoder;
    const WanVae reference = random_vae(config, {at::kCPU, at::kDouble}, both);
    const at::Tensor latent = reference.encode(clips(config)).to(at::kBFloat16);
    const WanVae vae = random_vae(reference.config(), {at::kCUDA, at::kFloat}, both);

    CHECK(relative_error(vae.decode_unclamped(latent), reference.decode_unclamped(latent)) <
          limit(at::kFloat));
  }
}

TEST_CASE("Video VAE on a GPU: a graph's replay gives the bits of a call") {
  if (!gpu_available()) {
    std::puts("SKIPPED: no GPU");
    return;
  }
  for (const VaeConfig& config : configs()) {
    const WanVae vae = random_vae(config, {at::kCUDA, at::kBFloat16});
    const at::Tensor video = clips(config).to(at::kCUDA);
    const at::Tensor input = at::zeros_like(video);
    const c10::cuda::CUDAStreamGuard guard(c10::cuda::getStreamFromPool());
    const at::Tensor expected = vae.encode(video);
    const at::Tensor expected_still = vae.encode_first_frame(video.select(2, 0), 13);
    c10::cuda::getCurrentCUDAStream().synchronize();
    at::cuda::CUDAGraph graph;
    graph.capture_begin();
    const at::Tensor latent = vae.encode(input);
    const at::Tensor still = vae.encode_first_frame(input.select(2, 0), 13);
    graph.capture_end();
    input.copy_(video);

    graph.replay();

    CHECK(at::equal(latent, expected));
    CHECK(at::equal(still, expected_still));
  }
}

}  // namespace wam
