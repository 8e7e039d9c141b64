#include "data/video/jpeg.h"

#include <algorithm>
#include <cstdlib>

#include <ATen/ops/full.h>

#include "data/video/picture.h"
#include "test/support/catch.h"

using wam::encode_jpeg;
using wam::PictureDecoder;

namespace {

// The largest difference of two pictures in columns [begin, end).
int furthest(const at::Tensor& a_HWC,
             const at::Tensor& b_HWC,
             std::int64_t begin,
             std::int64_t end) {
  int most = 0;
  for (std::int64_t y = 0; y < a_HWC.size(0); ++y) {
    for (std::int64_t i = 3 * (y * a_HWC.size(1) + begin); i < 3 * (y * a_HWC.size(1) + end); ++i) {
      const int a = a_HWC.const_data_ptr<std::uint8_t>()[i];
      const int b = b_HWC.const_data_ptr<std::uint8_t>()[i];
      most = std::max(most, std::abs(a - b));
    }
  }
  return most;
}

}  // namespace

TEST_CASE("JPEG: reads back as the same colours, scaled down where it is wide") {
  at::Tensor picture_HWC = at::full({64, 128, 3}, 40, at::kByte);
  picture_HWC.slice(1, 64, 128).select(2, 0).fill_(200);  // the right half is red
  PictureDecoder decoder;
  const at::Tensor same = decoder.decode(encode_jpeg(picture_HWC, 128), "x");
  REQUIRE(same.sizes() == picture_HWC.sizes());
  // Away from the edge, where chroma of half the resolution blurs.
  CHECK(furthest(same, picture_HWC, 0, 56) <= 4);
  CHECK(furthest(same, picture_HWC, 72, 128) <= 4);

  const at::Tensor small = decoder.decode(encode_jpeg(picture_HWC, 48), "x");
  CHECK(small.sizes() == at::IntArrayRef({24, 48, 3}));
  CHECK(encode_jpeg(picture_HWC, 48) == encode_jpeg(picture_HWC, 48));
}
