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

}  // namespace

TEST_CASE("CLIP image tower: preprocessing and features equal the reference's") {
  for (const auto& path : golden_files("clip")) {
    const GoldenFile golden(path);
    const ClipConfig config = config_of(golden);
    for (const at::ScalarType type : {at::kDouble, at::kFloat}) {
      INFO(golden.name() << " in " << c10::toString(type));
      const ClipTower tower(
          config, given_frozen(clip_tensors(config), golden_parameters(golden, type, "visual."),
                               {at::kCPU, type}));
      // (B, 1, 3, H, W): the first frame of each clip.
      const at::Tensor image_BCHW = golden.build("in.image", type).select(1, 0);

      const at::Tensor picture = tower.preprocess(image_BCHW);
      const at::Tensor features = tower.features(image_BCHW);

      CHECK(golden.error_of(picture, "out.preprocessed") <
            golden_limit(golden, "out.preprocessed", type));
      CHECK(golden.error_of(features, "out.features") < golden_limit(golden, "out.features", type));
    }
  }
}

}  // namespace wam::test
