#include "core/ops/picture/raw_clip.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>

#include "core/base/errors.h"
#include "test/support/catch.h"
#include "test/support/clip_plans.h"

namespace wam {
namespace {

RawClip clip_of(const test::ViewSizes& sizes, std::int64_t frames, std::uint64_t ordinal) {
  RawClip clip;
  clip.plan = std::make_shared<const ClipPlan>(test::one_view(sizes, 2));
  clip.draws = test::some_draws(*clip.plan, ordinal);
  auto rgb = test::noise_and_patches(frames * clip.plan->picture_bytes());
  clip.view_THWC = {
      at::from_blob(rgb.data(), {frames, sizes.in_height, sizes.in_width, 3}, at::kByte).clone()};
  return clip;
}

}  // namespace

TEST_CASE("raw clips of a batch become the images of each, whatever their recorded sizes") {
  constexpr std::int64_t kFrames = 2;
  const RawClip small = clip_of({20, 30, 18, 27, 16, 24}, kFrames, 1);
  const RawClip large = clip_of({40, 31, 36, 29, 16, 24}, kFrames, 2);
  RawClips batch;
  batch.frames = kFrames;
  batch.bytes_BN = at::zeros({2, large.bytes() + 100}, at::kByte);
  batch.clips = {{large.plan, large.draws}, {small.plan, small.draws}};
  batch.bytes_BN[0].narrow(0, 0, large.bytes()).copy_(large.view_THWC[0].flatten());
  batch.bytes_BN[1].narrow(0, 0, small.bytes()).copy_(small.view_THWC[0].flatten());

  const at::Tensor images = images_of(batch, c10::kCPU);

  REQUIRE(images.sizes() == at::IntArrayRef({2, kFrames, 20, 28, 3}));
  CHECK(at::equal(images[0], image_of(large)));
  CHECK(at::equal(images[1], image_of(small)));
}

TEST_CASE("raw clips that need more room or another canvas are refused") {
  const RawClip clip = clip_of({20, 30, 18, 27, 16, 24}, 2, 1);
  const RawClip other = clip_of({20, 30, 18, 27, 16, 32}, 2, 1);
  RawClips batch;
  batch.frames = 2;
  batch.bytes_BN = at::zeros({2, clip.bytes()}, at::kByte);
  batch.clips = {{clip.plan, clip.draws}, {other.plan, other.draws}};
  CHECK_THROWS_AS(images_of(batch, c10::kCPU), InvariantError);
  batch.clips[1] = batch.clips[0];
  batch.bytes_BN = at::zeros({2, clip.bytes() - 1}, at::kByte);
  CHECK_THROWS_AS(images_of(batch, c10::kCPU), InvariantError);
}

}  // namespace wam
