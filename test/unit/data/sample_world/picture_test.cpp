#include "data/sample_world/picture.h"

#include <algorithm>

#include "test/support/catch.h"

namespace wam::sample_world {
namespace {

constexpr int kLeft = 0, kRight = 1, kWrist = 2;
const Scene kScene{{Point{-0.66, 0.55}, Point{0.0, 0.72}, Point{0.66, 0.55}}, 0};

std::array<float, kJoints> reaching(int colour) {
  const Joints pose = goal_pose(kScene, colour);
  return {static_cast<float>(pose[0]), static_cast<float>(pose[1]), static_cast<float>(pose[2])};
}

std::vector<std::uint8_t> view_of(int view, const std::array<float, kJoints>& joints) {
  std::vector<std::uint8_t> pixels;
  draw(pixels, view, kScene, joints);
  return pixels;
}

// Where the pixels of a block's colour are: columns and rows of their middle, and how many.
struct Blob {
  double column = 0, row = 0;
  int pixels = 0;
};

Blob find_block(const std::vector<std::uint8_t>& picture, std::size_t colour) {
  Blob blob;
  for (std::size_t i = 0; i < picture.size() / 3; ++i) {
    const std::uint8_t* pixel = picture.data() + 3 * i;
    const int others = std::max(pixel[(colour + 1) % 3], pixel[(colour + 2) % 3]);
    if (pixel[colour] < others + 100) continue;
    blob.column += static_cast<double>(i % kPictureWidth);
    blob.row += static_cast<double>(i / kPictureWidth);
    ++blob.pixels;
  }
  blob.column /= std::max(blob.pixels, 1);
  blob.row /= std::max(blob.pixels, 1);
  return blob;
}

}  // namespace

TEST_CASE("Sample pictures: blocks are large and in order in the view from above") {
  const auto picture = view_of(kLeft, reaching(0));
  const Blob red = find_block(picture, 0), green = find_block(picture, 1),
             blue = find_block(picture, 2);

  CHECK(picture.size() == kPictureHeight * kPictureWidth * 3);
  for (const Blob& blob : {red, green, blue}) CHECK(blob.pixels >= 40);
  CHECK(red.column < green.column - 15);
  CHECK(green.column < blue.column - 15);
  CHECK(green.row < blue.row);
}

TEST_CASE("Sample pictures: the right camera looks from the other side") {
  const auto picture = view_of(kRight, reaching(1));

  CHECK(find_block(picture, 2).column < find_block(picture, 1).column - 10);
  CHECK(find_block(picture, 1).column < find_block(picture, 0).column - 10);
  CHECK(find_block(picture, 1).row > find_block(picture, 0).row);
}

TEST_CASE("Sample pictures: the wrist camera has the touched block in the middle") {
  for (int colour = 0; colour < kBlocks; ++colour) {
    const Blob blob =
        find_block(view_of(kWrist, reaching(colour)), static_cast<std::size_t>(colour));

    CHECK(blob.pixels >= 40);
    CHECK(blob.column == Approx(kPictureWidth / 2.0).margin(3));
    CHECK(blob.row == Approx(kPictureHeight / 2.0).margin(5));
  }
}

TEST_CASE("Sample pictures: a motion far below a pixel changes the picture") {
  auto moved = reaching(0);
  moved[0] += 0.005F;

  for (int view = 0; view < kViews; ++view) {
    CHECK(view_of(view, moved) != view_of(view, reaching(0)));
  }
}

}  // namespace wam::sample_world
