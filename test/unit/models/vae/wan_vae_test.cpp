#include "models/vae/wan_vae.h"

#include <string>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros.h>

#include "core/io/safetensors.h"
#include "core/io/tensor_file.h"
#include "test/support/catch.h"
#include "test/support/temp_folder.h"

namespace wam {
namespace {

WanVae random_vae(const VaeConfig& config,
                  at::ScalarType type,
                  const WanVae::Limits& limits = {},
                  VaeParts parts = VaeParts::kEncoder) {
  const FrozenSource source{.seed = 7, .path = {}, .prefix = {}};
  return {config, load_frozen(vae_tensors(config, parts), source, {at::kCPU, type}), limits};
}

double difference(const at::Tensor& a, const at::Tensor& b) {
  return (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>();
}

std::int64_t count(const FrozenModel& model, const std::string& prefix) {
  std::int64_t out = 0;
  for (const FrozenTensor& t : model.tensors) out += t.name.starts_with(prefix) ? t.numel() : 0;
  return out;
}

}  // namespace

TEST_CASE("Video VAE: tensors and parameters are as many as in the published files") {
  const FrozenModel wan21 = vae_tensors(VaeConfig::wan21(), VaeParts::kEncoder);
  const FrozenModel wan22 = vae_tensors(VaeConfig::wan22(), VaeParts::kEncoder);

  CHECK(wan21.tensors.size() == 194);
  CHECK(wan21.numel() == 126'892'531);
  CHECK(wan21.needed_numel() == 53'596'928);
  CHECK(count(wan21, "decoder.") == 73'295'331);
  CHECK(wan22.tensors.size() == 196);
  CHECK(wan22.numel() == 704'688'668);
  CHECK(wan22.needed_numel() == 149'637'088);
  CHECK(count(wan22, "decoder.") == 555'049'228);
  CHECK(vae_tensors(VaeConfig::wan22(), VaeParts::kEncoderAndDecoder).needed_numel() ==
        704'688'668);
}

TEST_CASE("Video VAE: pieces of a batch and of a clip give the latents of the whole") {
  for (const VaeConfig& config : {VaeConfig::tiny_wan21(), VaeConfig::tiny_wan22()}) {
    const std::int64_t size = config.spatial_factor() * 2;
    const at::Tensor video = moving_shapes(3, 13, size);
    const WanVae at_once = random_vae(config, at::kDouble, {.max_elements = std::int64_t{1} << 30});
    const at::Tensor whole = at_once.encode(video);
    const std::int64_t frame = config.dim * size * size / (config.patch() * config.patch());

    for (const std::int64_t frames : {1, 9, 13, 26}) {
      INFO("at most " << frames << " frames in a pass");
      const WanVae vae =
          random_vae(at_once.config(), at::kDouble, {.max_elements = frame * frames});
      CHECK(difference(vae.encode(video), whole) < 1e-12);
    }
  }
}

TEST_CASE("Video VAE: a picture followed by grey frames has the latents of that clip") {
  for (const VaeConfig& config : {VaeConfig::tiny_wan21(), VaeConfig::tiny_wan22()}) {
    const WanVae vae = random_vae(config, at::kDouble);
    const at::Tensor image =
        moving_shapes(2, 1, config.spatial_factor() * 2).to(at::kDouble).select(2, 0);
    // The longest one's latents are still at the end; in the others no frame is left to repeat
    // there.
    for (const std::int64_t frames : {1, 5, 13, 33, 161}) {
      INFO("z " << config.z_dim << ", " << frames << " frames");
      std::vector<std::int64_t> shape = image.sizes().vec();
      shape.insert(shape.begin() + 2, frames);
      const at::Tensor video = at::zeros(shape, at::kDouble);
      video.select(2, 0).copy_(image);

      const at::Tensor latent = vae.encode_first_frame(image, frames);

      CHECK(latent.sizes() == vae.encode(video).sizes());
      CHECK(difference(latent, vae.encode(video)) < 1e-12);
    }
  }
}

TEST_CASE("Video VAE: a latent sees no later frame") {
  for (const VaeConfig& config : {VaeConfig::tiny_wan21(), VaeConfig::tiny_wan22()}) {
    const WanVae vae = random_vae(config, at::kDouble);
    const at::Tensor video = moving_shapes(1, 13, config.spatial_factor() * 2).to(at::kDouble);
    const at::Tensor latent = vae.encode(video);
    at::Tensor changed = video.clone();
    changed.select(2, 5).neg_();

    const at::Tensor after = vae.encode(changed);

    CHECK(difference(vae.encode(video.slice(2, 0, 1)), latent.slice(2, 0, 1)) < 1e-12);
    CHECK(difference(after.slice(2, 0, 2), latent.slice(2, 0, 2)) < 1e-12);
    for (std::int64_t f = 2; f < 4; ++f) {
      CHECK(difference(after.select(2, f), latent.select(2, f)) > 1e-3);
    }
  }
}

TEST_CASE(
    "Video VAE: with random weights the latents of new clips are near zero mean, unit spread") {
  for (const VaeConfig& config : {VaeConfig::tiny_wan21(), VaeConfig::tiny_wan22()}) {
    const WanVae vae = random_vae(config, at::kFloat);
    // Another size, and clips that the measurement did not see.
    const at::Tensor latent = vae.encode(moving_shapes(24, 5, 96).slice(0, 16));

    CHECK(std::abs(latent.mean().item<double>()) < 0.3);
    CHECK(latent.std().item<double>() == Approx(1.0).margin(0.3));
    CHECK(latent.abs().max().item<double>() < 20);
    CHECK(vae.config().mean == random_vae(config, at::kFloat).config().mean);
  }
}

TEST_CASE("Video VAE: bf16 agrees with float32 to its rounding") {
  for (const VaeConfig& config : {VaeConfig::tiny_wan21(), VaeConfig::tiny_wan22()}) {
    const at::Tensor video = moving_shapes(1, 5, 32);
    const at::Tensor exact = random_vae(config, at::kFloat).encode(video);

    const at::Tensor rounded = random_vae(config, at::kBFloat16).encode(video);

    CHECK(rounded.scalar_type() == at::kBFloat16);
    CHECK((rounded.to(at::kFloat) - exact).square().mean().sqrt().item<double>() < 0.05);
  }
}

TEST_CASE("Video VAE: the latent constants are rounded to bf16 before use") {
  const VaeConfig config = VaeConfig::wan21();
  VaeConfig small = VaeConfig::tiny_wan21();
  small.mean = config.mean;
  small.std = config.std;
  const WanVae vae = random_vae(small, at::kBFloat16);
  const at::Tensor video = moving_shapes(1, 1, 16);
  const at::Tensor mu = vae.mu(video);

  const at::Tensor latent = vae.encode(video);

  // Channels 0 and 9 of the published rounded constants.
  const auto expected = [&](std::int64_t c, double mean, double inverse_std) {
    return mu.select(1, c).sub(mean).mul(inverse_std);
  };
  CHECK(latent.select(1, 0).equal(expected(0, -0.7578125, 0.35546875)));
  CHECK(latent.select(1, 9).equal(expected(9, -0.0712890625, 0.46484375)));
}

TEST_CASE("Video VAE: a preview has the clip's shape and stays within [-1, 1]") {
  for (const VaeConfig& config : {VaeConfig::tiny_wan21(), VaeConfig::tiny_wan22()}) {
    const WanVae vae = random_vae(config, at::kFloat, {}, VaeParts::kEncoderAndDecoder);
    const at::Tensor video = moving_shapes(2, 9, 32);

    const at::Tensor preview = vae.decode(vae.encode(video));

    CHECK(preview.sizes() == video.sizes());
    CHECK(preview.abs().max().item<double>() <= 1.0);
  }
}

TEST_CASE("Video VAE: a clip that does not divide is refused in words") {
  const WanVae vae = random_vae(VaeConfig::tiny_wan22(), at::kFloat);

  CHECK_THROWS_WITH(vae.encode(at::zeros({1, 3, 8, 32, 32})),
                    Catch::Contains("[1, 3, 8, 32, 32]") && Catch::Contains("1 + 4k"));
  CHECK_THROWS_WITH(vae.encode(at::zeros({1, 3, 9, 40, 32})), Catch::Contains("multiples of 16"));
}

TEST_CASE("Video VAE: weights written to a file and read back give the same bits") {
  const VaeConfig config = VaeConfig::tiny_wan22();
  const FrozenModel model = vae_tensors(config, VaeParts::kEncoderAndDecoder);
  const test::TempFolder folder;
  const auto path = folder.path() / "vae.safetensors";
  std::vector<TensorHeader> headers;
  for (const FrozenTensor& t : model.tensors) headers.push_back({"vae." + t.name, "F32", t.shape});
  SafetensorsWriter writer(path, headers, {});
  for (const FrozenTensor& t : model.tensors) {
    const at::Tensor values = random_frozen(t, 7, at::kFloat);
    writer.write_next(values.const_data_ptr(), values.nbytes());
  }
  writer.finish();
  const at::Tensor video = moving_shapes(1, 5, 32);

  const WanVae loaded(config, load_frozen(model, {.seed = {}, .path = path, .prefix = "vae."}, {}));

  CHECK(loaded.encode(video).equal(random_vae(config, at::kFloat).encode(video)));
}

}  // namespace wam
