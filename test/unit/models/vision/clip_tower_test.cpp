#include "models/vision/clip_tower.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linspace.h>

#include "test/support/catch.h"

namespace wam {
namespace {

ClipTower random_tower(at::ScalarType type) {
  const ClipConfig config = ClipConfig::tiny();
  const FrozenSource source{.seed = 3, .path = {}, .prefix = {}};
  return {config, load_frozen(clip_tensors(config), source, {at::kCPU, type})};
}

at::Tensor pictures() {
  return at::linspace(-1, 1, 2 * 3 * 32 * 64, at::kDouble).mul(40).sin().view({2, 3, 32, 64});
}

}  // namespace

TEST_CASE("CLIP tower: tensors and parameters are as many as in the published file") {
  const FrozenModel model = clip_tensors(ClipConfig::vit_h());

  CHECK(model.tensors.size() == 393);
  CHECK(model.numel() == 632'076'801);
  CHECK(model.needed_numel() == 611'086'080);
  CHECK(ClipConfig::vit_h().tokens() == 257);
}

TEST_CASE("CLIP tower: one picture's features do not depend on the others") {
  const ClipTower tower = random_tower(at::kDouble);

  const at::Tensor together = tower.features(pictures());

  REQUIRE(together.sizes() == at::IntArrayRef({2, 257, 64}));
  for (std::int64_t b = 0; b < 2; ++b) {
    const at::Tensor alone = tower.features(pictures().slice(0, b, b + 1));
    CHECK((together.select(0, b) - alone.select(0, 0)).abs().max().item<double>() < 1e-12);
  }
  CHECK((together.select(0, 0) - together.select(0, 1)).abs().max().item<double>() > 1e-2);
}

TEST_CASE("CLIP tower: mid-grey becomes (0.5 - mean) / std of each channel") {
  const at::Tensor grey = at::full({1, 3, 40, 60}, 0.0, at::kDouble);

  const at::Tensor picture = random_tower(at::kDouble).preprocess(grey);

  REQUIRE(picture.sizes() == at::IntArrayRef({1, 3, 224, 224}));
  CHECK(picture.select(1, 0).mean().item<double>() == Approx((0.5 - 0.48145466) / 0.26862954));
  CHECK(picture.select(1, 2).mean().item<double>() == Approx((0.5 - 0.40821073) / 0.27577711));
}

TEST_CASE("CLIP tower: bf16 agrees with float32 to its rounding") {
  const at::Tensor exact = random_tower(at::kFloat).features(pictures());

  const at::Tensor rounded = random_tower(at::kBFloat16).features(pictures());

  CHECK(rounded.scalar_type() == at::kBFloat16);
  CHECK((rounded.to(at::kFloat) - exact).square().mean().sqrt().item<double>() < 0.05);
}

}  // namespace wam
