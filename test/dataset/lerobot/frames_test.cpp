#include <algorithm>
#include <memory>
#include <numeric>

#include <ATen/ops/equal.h>
#include <ATen/ops/zeros.h>

#include <fmt/core.h>

#include "data/video/video_decoder.h"
#include "test/dataset/lerobot/expected_set.h"
#include "test/support/catch.h"

namespace wam::test {
namespace {

// Means over pixels that another converter must keep to; ours is exact, and float32 sums are not.
constexpr double kMaxMeanError = 1e-3;

at::Tensor one_frame(const ExpectedSet& set,
                     const nlohmann::json& position,
                     const std::string& camera) {
  const std::int64_t frames[] = {position.at("frame_index").get<std::int64_t>()};
  const std::int64_t idx = set.episode_idx(position.at("episode_index").get<std::int64_t>());
  return set.reader().read_frames(idx, camera, frames).select(0, 0);
}

double max_difference(const at::Tensor& a, const at::Tensor& b) {
  return a.to(at::kDouble).sub(b.to(at::kDouble)).abs().max().item<double>();
}

// Mean colours of rows x columns blocks of one picture, (rows, columns, 3) double. Plain loops:
// sums over two strided dimensions of a large tensor are slow.
at::Tensor block_means(const at::Tensor& rgb_HWC, std::int64_t rows, std::int64_t columns) {
  const std::int64_t height = rgb_HWC.size(0);
  const std::int64_t width = rgb_HWC.size(1);
  at::Tensor mean = at::zeros({rows, columns, 3}, at::kDouble);
  double* to = mean.data_ptr<double>();
  const std::uint8_t* from = rgb_HWC.data_ptr<std::uint8_t>();
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      double* block = to + (y * rows / height * columns + x * columns / width) * 3;
      for (int c = 0; c < 3; ++c) block[c] += *from++;
    }
  }
  return mean.div_(static_cast<double>(height * width / (rows * columns)));
}

std::vector<std::int64_t> first_n(std::int64_t n) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(n));
  std::iota(out.begin(), out.end(), std::int64_t{0});
  return out;
}

}  // namespace

TEST_CASE("LeRobot sets: RGB frames are equal to those of the LeRobot library") {
  for (const auto& root : set_folders()) {
    const ExpectedSet set(root);
    std::int64_t num_compared = 0;
    for (std::size_t p = 0; p < set.positions().size(); ++p) {
      for (const auto& [camera, entry] : set.positions().at(p).at("cameras").items()) {
        INFO(set.name() << " position " << p << " camera " << camera);
        const at::Tensor rgb_HWC = one_frame(set, set.positions().at(p), camera);
        CHECK(sha256(rgb_HWC) == entry.at("rgb_sha256").get<std::string>());
        ++num_compared;
        const std::string saved = fmt::format("frame/{}/{}", p, camera);
        if (set.has(saved)) CHECK(at::equal(rgb_HWC, set.stored(saved)));
        const at::Tensor mean =
            set.stored("block_mean/" + camera).select(0, static_cast<std::int64_t>(p));
        CHECK(max_difference(block_means(rgb_HWC, mean.size(0), mean.size(1)), mean) <
              kMaxMeanError);
      }
    }
    CHECK(num_compared > 0);
  }
}

TEST_CASE("LeRobot sets: the mean colour of every frame of every episode is right") {
  for (const auto& root : set_folders()) {
    const ExpectedSet set(root);
    const LeRobotReader& reader = set.reader();
    for (const std::string& camera : set.cameras()) {
      const at::Tensor mean_L3 = set.stored("frame_mean/" + camera);
      std::int64_t row = 0;
      for (std::int64_t i = 0; i < reader.num_episodes(); ++i) {
        INFO(set.name() << " episode " << i << " camera " << camera);
        const std::int64_t length = reader.episode_length(i);
        const at::Tensor rgb_THWC = reader.read_frames(i, camera, first_n(length));
        double worst = 0;
        for (std::int64_t t = 0; t < length; ++t) {
          const at::Tensor found_113 = block_means(rgb_THWC.select(0, t), 1, 1);
          worst = std::max(worst, max_difference(found_113.view({3}), mean_L3.select(0, row + t)));
        }
        CHECK(worst < kMaxMeanError);
        row += length;
      }
      CHECK(row == mean_L3.size(0));
    }
  }
}

TEST_CASE("LeRobot sets: planes, places and times of the listed video frames are exact") {
  for (const auto& root : set_folders()) {
    const ExpectedSet set(root);
    for (const auto& position : set.positions()) {
      for (const auto& [camera, entry] : position.at("cameras").items()) {
        if (!entry.contains("file")) continue;
        INFO(set.name() << " camera " << camera << " frame " << position.at("frame_index"));
        const auto index = std::make_shared<const VideoIndex>(
            read_video_index(root / entry.at("file").get<std::string>()));
        const auto ordinal = entry.at("frame_in_file").get<std::int64_t>();
        CHECK(index->seconds(ordinal) == Approx(entry.at("pts_s").get<double>()).margin(1e-9));
        CHECK(index->ordinal_at(entry.at("pts_s").get<double>()) == ordinal);
        VideoDecoder decoder(index);
        CHECK(md5(decoder.read_planes(ordinal)) == entry.at("yuv420p_md5").get<std::string>());
      }
    }
  }
}

TEST_CASE("LeRobot sets: every frame of every video file is exact, and so are the counts") {
  for (const auto& root : set_folders()) {
    const ExpectedSet set(root);
    std::unique_ptr<VideoDecoder> decoder;  // one for all files of the set
    for (const auto& [file, entry] : set.json().at("video_files").items()) {
      INFO(set.name() << " " << file);
      const auto index = std::make_shared<const VideoIndex>(read_video_index(root / file));
      CHECK(index->num_frames() == entry.at("frames").get<std::int64_t>());
      CHECK(index->pts == read_video_index(root / file, IndexSource::kPackets).pts);
      CHECK(index->num_keyframes == entry.at("keyframes").get<std::int64_t>());
      CHECK(index->seconds(0) == Approx(entry.at("first_pts_s").get<double>()).margin(1e-9));
      if (decoder) {
        decoder->reopen(index);
      } else {
        decoder = std::make_unique<VideoDecoder>(index);
      }
      std::vector<at::Tensor> planes;
      for (std::int64_t i = 0; i < index->num_frames(); ++i) {
        for (const at::Tensor& plane : decoder->read_planes(i)) planes.push_back(plane);
      }
      CHECK(md5(planes) == entry.at("yuv420p_md5_all_frames").get<std::string>());
    }
  }
}

}  // namespace wam::test
