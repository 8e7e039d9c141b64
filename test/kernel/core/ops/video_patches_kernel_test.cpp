#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>

#include "core/cuda/device.h"
#include "core/ops/video_patches/video_patches_plain.h"
#include "core/random/counter.h"
#include "test/support/catch.h"

namespace wam {

TEST_CASE("Video patches: the kernel moves the same bits as the plain form") {
  if (!gpu_available()) {
    std::puts("SKIPPED: no GPU");
    return;
  }
  // Pictures narrower than a block's 64 positions, of just as many, and of more.
  using Shape = std::vector<std::int64_t>;
  const Shape shape = GENERATE(Shape{2, 3, 5, 6, 10}, Shape{1, 3, 1, 2, 2}, Shape{1, 3, 3, 4, 128},
                               Shape{3, 3, 2, 10, 330}, Shape{0, 3, 2, 4, 4});
  at::Tensor drawn = at::empty(shape, at::kFloat);
  CounterStream(7, Purpose::kSampleWorld, 1)
      .normals(drawn.mutable_data_ptr<float>(), drawn.numel());
  for (const at::ScalarType type : {at::kBFloat16, at::kFloat}) {
    const at::Tensor video = drawn.to(at::kCUDA, type);
    for (const std::int64_t pixel : {1, 2}) {
      for (const std::int64_t first : {std::int64_t{0}, shape[2] - 1}) {
        INFO(c10::toString(type) << ", pixel " << pixel << ", from frame " << first);
        const VideoPatches options{.pixel = pixel, .first_frame = first};

        const at::Tensor rows = video_patches(video, options);

        CHECK(at::equal(rows, video_patches_plain(video, options)));
      }
    }
  }
}

}  // namespace wam
