#include <string>
#include <vector>

#include "models/vae/wan_vae.h"
#include "test/golden/encoders/golden_parameters.h"
#include "test/support/catch.h"

namespace wam::test {
namespace {

// About two dozen residual blocks of four tensors; the widest convolution has 27 taps of 4 * 8
// channels.
constexpr Arithmetic kError{.roundings = 96, .terms = 27.0 * 32, .largest = 4};

VaeConfig config_of(const GoldenFile& golden) {
  const auto& json = golden.config();
  const auto numbers = [&](const char* name) {
    const at::Tensor values = golden.build(name, at::kDouble).contiguous();
    const auto* begin = values.const_data_ptr<double>();
    return std::vector<double>(begin, begin + values.numel());
  };
  return {.kind = json.at("kind") == "38" ? VaeKind::kWan22 : VaeKind::kWan21,
          .dim = json.at("dim").get<std::int64_t>(),
          .z_dim = json.at("z_dim").get<std::int64_t>(),
          .decoder_dim = json.at("dec_dim").get<std::int64_t>(),
          .mean = numbers("in.mean"),
          .std = numbers("in.std")};
}

void check_file(const GoldenFile& golden, const GoldenPlace& place) {
  const VaeConfig config = config_of(golden);
  const WanVae vae(config,
                   given_frozen(vae_tensors(config, VaeParts::kEncoderAndDecoder),
                                golden_parameters(golden, place.type), {place.device, place.type}));
  INFO(golden.name() << " on " << place.text());
  for (const std::string clip : {"", "1"}) {
    INFO("clip in.x" << clip);
    const at::Tensor latent = vae.encode(golden.build("in.x" + clip, place.type).to(place.device));
    CHECK(golden.error_of(latent, "out.latent" + clip) <
          golden_limit(golden, "out.latent" + clip, place, kError));
    const at::Tensor video = vae.decode_unclamped(golden.stored("out.latent" + clip));
    CHECK(golden.error_of(video, "out.decoded" + clip) <
          golden_limit(golden, "out.decoded" + clip, place, kError));
  }
}

}  // namespace

TEST_CASE("Video VAE: latents and decoded clips equal the reference's") {
  for (const GoldenPlace& place : golden_places()) {
    for (const auto& path : golden_files("vae")) check_file(GoldenFile(path), place);
  }
}

}  // namespace wam::test
