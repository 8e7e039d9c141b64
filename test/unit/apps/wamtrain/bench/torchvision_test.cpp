#include "apps/wamtrain/bench/torchvision.h"

#include <cstdlib>
#include <iostream>

#include <ATen/ops/from_blob.h>

#include "core/base/errors.h"
#include "core/io/atomic_file.h"
#include "test/support/catch.h"
#include "test/support/clip_plans.h"
#include "test/support/temp_folder.h"

namespace wam {
namespace {

RawClip clip_of(const ClipPlan& plan, std::uint64_t ordinal) {
  RawClip clip;
  clip.plan = std::make_shared<const ClipPlan>(plan);
  clip.draws = test::some_draws(plan, ordinal);
  constexpr std::int64_t kFrames = 2;
  for (std::int64_t v = 0; v < plan.num_views; ++v) {
    auto rgb = test::noise_and_patches(kFrames * plan.picture_bytes());
    clip.view_THWC.push_back(
        at::from_blob(rgb.data(), {kFrames, plan.in_height, plan.in_width, 3}, at::kByte).clone());
  }
  return clip;
}

// Two views, one of them doubled both ways, with a black corner.
ClipPlan two_views() {
  ClipPlan plan = test::one_view({40, 60, 38, 57, 32, 48});
  plan.num_views = 2;
  plan.height = 96;
  plan.width = 144;
  plan.places = {{1, 0, 0, 2, 2}, {0, 64, 96, 1, 1}};
  return plan;
}

}  // namespace

TEST_CASE("torchvision's times and values are taken from what the script writes") {
  const test::TempFolder folder;
  const auto script = folder.path() / "script.py";
  write_file_atomically(script, R"(
import json, pathlib, sys
folder = pathlib.Path(sys.argv[1])
job = json.loads((folder / "job.json").read_text())
assert [s[0] for s in job["draws"][0]["steps"]] == ["hue"], job
clip = bytearray((folder / "clip_0.bin").read_bytes())
clip[7] = (clip[7] + 3) % 256 if clip[7] < 128 else clip[7] - 3
(folder / "image_0.bin").write_bytes(clip)
(folder / "result.json").write_text(json.dumps({"seconds": [0.25], "by": "a script"}))
)");
  RawClip clip = clip_of(test::one_view({8, 8, 8, 8, 8, 8}), 1);
  clip.draws = {};
  const at::Tensor same = image_of(clip);
  clip.draws.add(JitterOp::kHue, 0.1F);

  const TorchvisionTimes times = time_torchvision(script, {clip}, {same}, 1);

  CHECK(times.seconds == std::vector<double>{0.25});
  CHECK(times.by == "a script");
  CHECK(times.worst_level == 3);
  CHECK(times.share == Approx(1.0 / (2 * 8 * 8 * 3)));
}

TEST_CASE("a script for torchvision that is missing or fails is named") {
  const test::TempFolder folder;
  const RawClip clip = clip_of(test::one_view({8, 8, 8, 8, 8, 8}), 1);
  const std::vector<at::Tensor> images = {image_of(clip)};
  CHECK_THROWS_WITH(time_torchvision(folder.path() / "none.py", {clip}, images, 1),
                    Catch::Contains("there is no file") && Catch::Contains("Fix: "));
  const auto script = folder.path() / "script.py";
  write_file_atomically(script, "raise SystemExit(1)\n");
  CHECK_THROWS_WITH(time_torchvision(script, {clip}, images, 1),
                    Catch::Contains("script.py failed") && Catch::Contains("Fix: "));
}

TEST_CASE("our transform gives torchvision's values, but for roundings") {
  const char* python = std::getenv("WAM_PYTHON");
  const std::string command = (python != nullptr ? std::string(python) : "python3") +
                              " -c 'import numpy, torch' >/dev/null 2>&1";
  if (std::system(command.c_str()) != 0) {
    std::cout << "SKIPPED: no Python with torch and numpy (WAM_PYTHON names one)\n";
    return;
  }
  std::vector<RawClip> clips;
  std::vector<at::Tensor> images;
  for (std::uint64_t i = 0; i < 4; ++i) {
    clips.push_back(clip_of(two_views(), i));
    images.push_back(image_of(clips.back()));
  }

  const TorchvisionTimes times = time_torchvision(
      std::filesystem::path(WAM_SOURCE_DIR) / "scripts/time_torchvision.py", clips, images, 1);

  CHECK(times.worst_level <= 1);
  CHECK(times.share <= 1e-3);
}

}  // namespace wam
