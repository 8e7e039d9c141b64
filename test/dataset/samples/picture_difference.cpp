#include "test/dataset/samples/picture_difference.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "core/base/errors.h"
#include "data/video/picture.h"

namespace wam::test {
namespace {

// 256 times the mean of every size x size block of some frames, against stored values.
double block_difference(const at::Tensor& clip,
                        const std::vector<std::int64_t>& frames,
                        std::int64_t size,
                        const std::vector<std::uint16_t>& expected) {
  const std::int64_t rows = clip.size(1) / size;
  const std::int64_t cols = clip.size(2) / size;
  require<InvariantError>(
      expected.size() == frames.size() * static_cast<std::size_t>(rows * cols * 3),
      "{} stored block means for {} frames", expected.size(), frames.size());
  double worst = 0;
  std::size_t at = 0;
  for (const auto frame : frames) {
    const auto* rgb = clip[frame].const_data_ptr<std::uint8_t>();
    for (std::int64_t block = 0; block < rows * cols; ++block) {
      const std::int64_t top = block / cols * size;
      const std::int64_t left = block % cols * size;
      for (std::int64_t c = 0; c < 3; ++c, ++at) {
        std::int64_t sum = 0;
        for (std::int64_t i = 0; i < size * size; ++i) {
          sum += rgb[3 * ((top + i / size) * clip.size(2) + left + i % size) + c];
        }
        const double mean = static_cast<double>(sum) / static_cast<double>(size * size);
        worst = std::max(worst, std::abs(mean - expected[at] / 256.0));
      }
    }
  }
  return worst;
}

double mean_difference(const at::Tensor& clip, const std::vector<float>& expected) {
  double worst = 0;
  const std::int64_t pixels = clip.size(1) * clip.size(2);
  for (std::int64_t t = 0; t < clip.size(0); ++t) {
    const auto* rgb = clip[t].const_data_ptr<std::uint8_t>();
    double sum[3] = {};
    for (std::int64_t i = 0; i < 3 * pixels; ++i) sum[i % 3] += rgb[i];
    for (std::int64_t c = 0; c < 3; ++c) {
      worst = std::max(
          worst, std::abs(sum[c] / static_cast<double>(pixels) -
                          static_cast<double>(expected[static_cast<std::size_t>(3 * t + c)])));
    }
  }
  return worst;
}

void compare_png(const at::Tensor& ours,
                 const std::vector<std::uint8_t>& png,
                 PictureDifference& difference) {
  PictureDecoder decoder;
  const at::Tensor theirs =
      decoder.decode({reinterpret_cast<const char*>(png.data()), png.size()}, "a stored picture");
  const at::Tensor mine = ours.contiguous();
  std::int64_t differing = 0;
  for (std::int64_t i = 0; i < mine.numel(); ++i) {
    const int delta = std::abs(static_cast<int>(mine.const_data_ptr<std::uint8_t>()[i]) -
                               static_cast<int>(theirs.const_data_ptr<std::uint8_t>()[i]));
    difference.pixel = std::max(difference.pixel, delta);
    differing += delta > 0 ? 1 : 0;
  }
  difference.share = std::max(difference.share,
                              static_cast<double>(differing) / static_cast<double>(mine.numel()));
}

}  // namespace

PictureDifference picture_difference(const GoldenSet& set,
                                     const nlohmann::json& sample,
                                     const at::Tensor& clip) {
  const auto id = sample.at("id").get<std::string>();
  std::vector<std::int64_t> every(static_cast<std::size_t>(clip.size(0)));
  for (std::size_t t = 0; t < every.size(); ++t) every[t] = static_cast<std::int64_t>(t);
  const auto some = sample.at("block16_frames").get<std::vector<std::int64_t>>();
  PictureDifference out;
  out.block16 = block_difference(clip, some, 16, set.stored<std::uint16_t>(id + "/block16"));
  out.block32 = block_difference(clip, every, 32, set.stored<std::uint16_t>(id + "/block32"));
  out.frame_mean = mean_difference(clip, set.stored<float>(id + "/frame_mean"));
  for (const auto frame : sample.at("png_frames").get<std::vector<std::int64_t>>()) {
    compare_png(clip[frame], set.stored<std::uint8_t>(id + "/png/" + std::to_string(frame)), out);
  }
  return out;
}

}  // namespace wam::test
