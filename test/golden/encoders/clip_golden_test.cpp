#include <vector>

#include "models/vision/clip_tower.h"
#include "test/golden/encoders/golden_parameters.h"
#include "test/support/catch.h"

namespace wam::test {
namespace {

ClipConfig config_of(const GoldenFile& golden) {
  const auto size = [&](const char* key) { return golden.config().at(key).get<std::int64_t>(); };
  return {.image_size = size("image_size"),
          .patch_size = size("patch_size"),
          .dim = size("dim"),
          .feed_forward_dim = size("dim") * size("mlp_ratio"),
          .num_heads = size("num_heads"),
          .num_layers = size("num_layers"),
          .out_dim = size("out_dim")};
}

void check_file(const GoldenFile& golden, const GoldenPlace& place) {
  const ClipConfig config = config_of(golden);
  INFO(golden.name() << " on " << place.text());
  const ClipTower tower(
      config, given_frozen(clip_tensors(config), golden_parameters(golden, place.type, "visual."),
                           {place.device, place.type}));
  // (B, 1, 3, H, W): the first frame of each clip.
  const at::Tensor image_BCHW = golden.build("in.image", place.type).select(1, 0).to(place.device);

  const at::Tensor picture = tower.preprocess(image_BCHW);
  const at::Tensor features = tower.features(image_BCHW);

  // The picture is made in four steps; a block rounds about ten tensors.
  const Arithmetic features_error{.roundings = 4 + 10 * static_cast<double>(config.num_layers),
                                  .terms = static_cast<double>(config.feed_forward_dim)};
  // Sixteen neighbours, at places up to a picture's width that are rounded too, on both axes and
  // with slopes of up to two.
  CHECK(golden.error_of(picture, "out.preprocessed") <
        golden_limit(golden, "out.preprocessed", place,
                     {.roundings = 4, .terms = 64.0 * static_cast<double>(image_BCHW.size(3))}));
  CHECK(golden.error_of(features, "out.features") <
        golden_limit(golden, "out.features", place, features_error));
}

}  // namespace

TEST_CASE("CLIP image tower: preprocessing and features equal the reference's") {
  for (const GoldenPlace& place : golden_places()) {
    for (const auto& path : golden_files("clip")) check_file(GoldenFile(path), place);
  }
}

}  // namespace wam::test
