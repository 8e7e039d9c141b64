#include "data/video/picture.h"

#include <ATen/ops/equal.h>

#include "core/base/errors.h"
#include "test/support/catch.h"
#include "test/unit/data/video/test_video.h"

namespace wam::test {
namespace {

std::string error_of(const std::string& file) {
  PictureDecoder decoder;
  try {
    static_cast<void>(decoder.decode(file, "frame 3 in column 'image' of t.parquet"));
  } catch (const DataError& e) {
    return e.what();
  }
  return "no error";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("PictureDecoder: a picture does not depend on the ones decoded before") {
  PictureDecoder shared;
  for (std::uint8_t seed = 0; seed < 4; ++seed) {
    const std::string png = encode_test_picture(AV_CODEC_ID_PNG, AV_PIX_FMT_RGB24, 32, 24, seed);
    PictureDecoder fresh;
    CHECK(at::equal(shared.decode(png, "x"), fresh.decode(png, "x")));
  }
}

TEST_CASE("PictureDecoder: colour, grey and transparent PNG become RGB") {
  PictureDecoder decoder;
  // The generator's bytes are the pixels: compare the first ones.
  const auto bytes = [](int n) {
    std::vector<std::uint8_t> out;
    unsigned value = 5;
    for (int i = 0; i < n; ++i) {
      value = value * 1103515245U + 12345U;
      out.push_back(static_cast<std::uint8_t>(value >> 16U));
    }
    return out;
  };
  const auto source = bytes(16);
  const auto rgb =
      decoder.decode(encode_test_picture(AV_CODEC_ID_PNG, AV_PIX_FMT_RGB24, 18, 12, 5), "x");
  const auto grey =
      decoder.decode(encode_test_picture(AV_CODEC_ID_PNG, AV_PIX_FMT_GRAY8, 18, 12, 5), "x");
  const auto rgba =
      decoder.decode(encode_test_picture(AV_CODEC_ID_PNG, AV_PIX_FMT_RGBA, 18, 12, 5), "x");
  for (const at::Tensor& picture : {rgb, grey, rgba}) {
    REQUIRE(picture.sizes() == at::IntArrayRef({12, 18, 3}));
  }
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t c = 0; c < 3; ++c) {
      CHECK(rgb.data_ptr<std::uint8_t>()[i * 3 + c] == source[i * 3 + c]);
      CHECK(grey.data_ptr<std::uint8_t>()[i * 3 + c] == source[i]);
      CHECK(rgba.data_ptr<std::uint8_t>()[i * 3 + c] == source[i * 4 + c]);
    }
  }
}

TEST_CASE("PictureDecoder reads JPEG") {
  PictureDecoder decoder;
  const std::string jpeg = encode_test_picture(AV_CODEC_ID_MJPEG, AV_PIX_FMT_YUVJ420P, 48, 32, 1);
  CHECK(decoder.decode(jpeg, "x").sizes() == at::IntArrayRef({32, 48, 3}));
}

TEST_CASE("Pictures that do not decode are named") {
  const std::string png = encode_test_picture(AV_CODEC_ID_PNG, AV_PIX_FMT_RGB24, 64, 48, 9);
  const std::string cut = error_of(png.substr(0, png.size() / 2));
  INFO(cut);
  CHECK(contains(cut, "frame 3 in column 'image' of t.parquet: the picture ("));
  CHECK(contains(cut, "does not decode"));
  CHECK(contains(error_of("GIF89a"), "neither PNG nor JPEG"));
  CHECK(contains(error_of(""), "0 bytes that are neither PNG nor JPEG"));
}

}  // namespace wam::test
