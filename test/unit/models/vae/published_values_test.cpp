// Values computed once with the reference's own modules (Wan2.1 wan/modules/vae.py @ 9737cba,
// Wan2.2 wan/modules/vae2_2.py @ 42bf4cf) in float32, weights and input by a formula.
#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include <ATen/ops/empty.h>

#include "models/vae/wan_vae.h"
#include "test/support/catch.h"

namespace wam {
namespace {

std::uint64_t splitmix64(std::uint64_t x) {
  std::uint64_t z = x + 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

// Tensor number h: offset + amplitude * (2u - 1), u from 53 bits.
at::Tensor filled(const std::vector<std::int64_t>& shape,
                  std::uint64_t h,
                  double amplitude,
                  double offset) {
  at::Tensor out = at::empty(shape, at::kFloat);
  auto* values = out.mutable_data_ptr<float>();
  for (std::int64_t i = 0; i < out.numel(); ++i) {
    const std::uint64_t bits = splitmix64((h << 32) + static_cast<std::uint64_t>(i)) >> 11;
    values[i] =
        static_cast<float>(offset + amplitude * (2.0 * static_cast<double>(bits) * 0x1p-53 - 1.0));
  }
  return out;
}

// The encoder's tensors are numbered by the order of their names.
WanVae filled_vae(const VaeConfig& config) {
  const FrozenModel model = vae_tensors(config, VaeParts::kEncoder);
  std::vector<FrozenTensor> sorted;
  std::copy_if(model.tensors.begin(), model.tensors.end(), std::back_inserter(sorted),
               [](const FrozenTensor& t) { return t.needed; });
  std::sort(sorted.begin(), sorted.end(),
            [](const FrozenTensor& a, const FrozenTensor& b) { return a.name < b.name; });
  REQUIRE(sorted.size() == 86);
  std::map<std::string, at::Tensor> tensors;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const double offset = sorted[i].name.ends_with("gamma") ? 1.0 : 0.0;
    tensors.emplace(sorted[i].name, filled(sorted[i].shape, i + 1, 0.1, offset));
  }
  return {config, given_frozen(model, tensors, {})};
}

struct Published {
  VaeKind kind;
  std::int64_t height, width;
  double sum, squares;
  std::array<std::array<double, 4>, 3> corner;  // [0, :, frame, 0, 0]
  std::array<double, 3> frame_squares;
};

const std::array<Published, 2> kPublished{Published{VaeKind::kWan21,
                                                    16,
                                                    24,
                                                    -13.229218,
                                                    20.577295,
                                                    {{{0.311918, 0.003201, -0.196879, -1.113190},
                                                      {0.286636, 0.153177, 0.036615, -0.941476},
                                                      {0.386554, 0.090227, -0.306189, -1.098693}}},
                                                    {7.802938, 6.637808, 6.136550}},
                                          Published{VaeKind::kWan22,
                                                    32,
                                                    48,
                                                    -13.068549,
                                                    18.567592,
                                                    {{{0.322034, 0.027706, -0.343938, -0.991939},
                                                      {0.213157, 0.202267, -0.052991, -0.714344},
                                                      {0.340133, 0.133530, -0.404240, -0.838799}}},
                                                    {6.987431, 4.802455, 6.777706}}};

}  // namespace

TEST_CASE("Video VAE: latents of formula weights equal the published values") {
  for (const Published& expected : kPublished) {
    const VaeConfig config{.kind = expected.kind,
                           .dim = 8,
                           .z_dim = 4,
                           .decoder_dim = 8,
                           .mean = {-0.5, -0.5 + 1.0 / 3, 0.5 - 1.0 / 3, 0.5},
                           .std = {2.0, 1.0, 1.0 / 1.5, 0.5}};

    const at::Tensor latent =
        filled_vae(config).encode(filled({1, 3, 9, expected.height, expected.width}, 1001, 1, 0));

    REQUIRE(latent.sizes() == at::IntArrayRef({1, 4, 3, 2, 3}));
    CHECK(latent.sum().item<double>() == Approx(expected.sum).margin(2e-4));
    CHECK(latent.square().sum().item<double>() == Approx(expected.squares).epsilon(1e-4));
    for (std::int64_t frame = 0; frame < 3; ++frame) {
      const auto f = static_cast<std::size_t>(frame);
      const at::Tensor one = latent.select(2, frame);
      CHECK(one.square().sum().item<double>() == Approx(expected.frame_squares[f]).epsilon(1e-4));
      for (std::int64_t c = 0; c < 4; ++c) {
        CHECK(one.select(3, 0).select(2, 0).select(1, c).item<double>() ==
              Approx(expected.corner[f][static_cast<std::size_t>(c)]).margin(2e-4));
      }
    }
  }
}

}  // namespace wam
