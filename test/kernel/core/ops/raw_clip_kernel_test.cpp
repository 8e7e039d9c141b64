#include <cstdio>

#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>

#include "core/cuda/device.h"
#include "core/ops/picture/raw_clip.h"
#include "test/support/catch.h"
#include "test/support/clip_plans.h"

namespace wam {
namespace {

constexpr std::int64_t kFrames = 3;

RawClips batch_of(const std::vector<std::shared_ptr<const ClipPlan>>& plans,
                  const std::vector<ClipDraws>& draws) {
  std::int64_t longest = 0;
  for (const auto& plan : plans) {
    longest = std::max(longest, plan->num_views * kFrames * plan->picture_bytes());
  }
  RawClips out;
  out.frames = kFrames;
  out.bytes_BN = at::empty({static_cast<std::int64_t>(plans.size()), longest},
                           at::TensorOptions(at::kByte).pinned_memory(true));
  const auto noise = test::noise_and_patches(out.bytes_BN.numel());
  std::copy(noise.begin(), noise.end(), out.bytes_BN.mutable_data_ptr<std::uint8_t>());
  for (std::size_t i = 0; i < plans.size(); ++i) out.clips.push_back({plans[i], draws[i]});
  return out;
}

// Three views in the layout of DROID, one of them twice as wide and one cell black.
ClipPlan three_views() {
  ClipPlan plan = test::one_view({180, 320, 171, 304, 176, 320});
  plan.num_views = 3;
  plan.height = 352;
  plan.width = 640;
  plan.places = {{2, 0, 0, 1, 2}, {0, 176, 0, 1, 1}};
  return plan;
}

}  // namespace

TEST_CASE("Raw clips: the kernels give the host's bytes") {
  if (!gpu_available()) {
    std::puts("SKIPPED: no GPU");
    return;
  }
  std::uint64_t ordinal = 0;
  for (const auto& sizes : test::kViewSizes) {
    const auto plan = std::make_shared<const ClipPlan>(test::one_view(sizes, 3));
    ClipDraws only_hue;
    only_hue.add(JitterOp::kHue, 0.31F);
    const std::vector<ClipDraws> draws = {ClipDraws{}, only_hue, test::some_draws(*plan, ordinal++),
                                          test::some_draws(*plan, ordinal++)};
    const RawClips clips = batch_of({plan, plan, plan, plan}, draws);
    INFO(sizes.in_height << "x" << sizes.in_width << " to " << sizes.out_height << "x"
                         << sizes.out_width);
    const at::Tensor found = images_of(clips, c10::kCUDA);
    CHECK(at::equal(found.cpu(), images_of(clips, c10::kCPU)));
    CHECK(at::equal(found, images_of(clips, c10::kCUDA)));
  }
}

TEST_CASE("Raw clips: several views and recorded sizes in one batch") {
  if (!gpu_available()) {
    std::puts("SKIPPED: no GPU");
    return;
  }
  const auto droid = std::make_shared<const ClipPlan>(three_views());
  const auto single =
      std::make_shared<const ClipPlan>(test::one_view({240, 321, 228, 304, 352, 640}));
  const RawClips clips = batch_of(
      {droid, single, droid},
      {test::some_draws(*droid, 1), test::some_draws(*single, 2), test::some_draws(*droid, 3)});

  CHECK(at::equal(images_of(clips, c10::kCUDA).cpu(), images_of(clips, c10::kCPU)));
}

}  // namespace wam
