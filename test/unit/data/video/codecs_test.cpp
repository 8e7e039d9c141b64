#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <numeric>
#include <random>

#include <ATen/ops/equal.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/tensor.h>

#include <fmt/core.h>

#include "data/video/plain_decoder.h"
#include "data/video/sample_table.h"
#include "data/video/video_decoder.h"
#include "test/support/catch.h"
#include "test/support/temp_folder.h"
#include "test/unit/data/video/test_video.h"

namespace wam::test {
namespace {

// The encoders that this FFmpeg has; says which tests are skipped.
std::vector<std::string> those_here(const std::vector<std::string>& encoders) {
  std::vector<std::string> out;
  for (const auto& encoder : encoders) {
    if (has_encoder(encoder)) {
      out.push_back(encoder);
    } else {
      std::cout << "SKIPPED: this FFmpeg has no encoder " << encoder << "\n";
    }
  }
  return out;
}

void check_equal(const VideoIndex& a, const VideoIndex& b) {
  CHECK(a.pts == b.pts);
  CHECK(a.keyframes == b.keyframes);
  CHECK(a.num_keyframes == b.num_keyframes);
  CHECK(a.time_base == b.time_base);
}

// Every frame is the one that its ordinal says, read in jumps from the last to the first.
void check_frames(const VideoIndex& index) {
  VideoDecoder decoder(std::make_shared<const VideoIndex>(index));
  for (std::int64_t i = index.num_frames() - 1; i >= 0; --i) {
    const double level = decoder.read_planes(i)[0].to(at::kDouble).mean().item<double>();
    CHECK(std::abs(level - grey_of(i)) < 2);
  }
}

}  // namespace

TEST_CASE("h264, hevc, AV1 and mpeg4 are read frame by frame, with and without B-frames") {
  const TempFolder folder;
  for (const std::string& encoder : those_here({"mpeg4", "libx264", "libx265", "libaom-av1"})) {
    for (const int b_frames : {0, 2}) {
      const bool is_av1 = encoder == "libaom-av1";
      if (is_av1 && b_frames > 0) continue;  // AV1 hides its reordering in packets
      INFO(encoder << " with " << b_frames << " B-frames");
      const auto path = folder.path() / fmt::format("{}_{}.mp4", encoder, b_frames);
      write_test_video(
          path, {.num_frames = 30, .keyframe_every = 8, .b_frames = b_frames, .encoder = encoder});
      const VideoIndex index = read_video_index(path);
      CHECK(index.num_frames() == 30);
      CHECK(index.num_keyframes >= 4);
      check_equal(index, read_video_index(path, IndexSource::kPackets));
      check_frames(index);
    }
  }
}

TEST_CASE("mp4 in fragments, whose header says nothing of B-frames, is read frame by frame") {
  const TempFolder folder;
  for (const std::string& encoder : those_here({"mpeg4", "libx264", "libx265"})) {
    INFO(encoder);
    const auto path = folder.path() / fmt::format("{}.mp4", encoder);
    write_test_video(path, {.num_frames = 30,
                            .keyframe_every = 8,
                            .b_frames = 3,
                            .in_fragments = true,
                            .encoder = encoder});
    const VideoIndex index = read_video_index(path);
    CHECK(index.num_frames() == 30);
    check_equal(index, read_video_index(path, IndexSource::kPackets));
    check_frames(index);
  }
}

TEST_CASE("lists of frames, one after another through one decoder, are those of a full decode") {
  const TempFolder folder;
  for (const std::string& encoder : those_here({"mpeg4", "libx264", "libx265"})) {
    INFO(encoder);
    const auto path = folder.path() / fmt::format("{}.mp4", encoder);
    write_test_video(path,
                     {.num_frames = 90, .keyframe_every = 40, .b_frames = 2, .encoder = encoder});
    const auto index = std::make_shared<const VideoIndex>(read_video_index(path));
    std::vector<std::int64_t> all(90);
    std::iota(all.begin(), all.end(), std::int64_t{0});
    const at::Tensor expected_THWC = VideoDecoder(index).read_rgb(all);
    CHECK(PlainDecoder(path).decode(index->pts.front(), index->pts.back()) == 90);
    VideoDecoder decoder(index);
    std::mt19937 draws(1);
    std::int64_t last = 0;
    for (int list = 0; list < 120; ++list) {
      // Half of the lists go on where the one before ended, with frames that it may have left out.
      std::vector<std::int64_t> wanted(list % 2 == 0 ? 5 : 1);
      for (auto& ordinal : wanted) {
        const auto draw = static_cast<std::int64_t>(draws());
        ordinal = list % 2 == 0 ? draw % 60 : last + 1 + draw % 3;
      }
      last = *std::max_element(wanted.begin(), wanted.end());
      const at::Tensor rgb_THWC = decoder.read_rgb(wanted);
      CHECK(at::equal(rgb_THWC, expected_THWC.index_select(0, at::tensor(wanted))));
    }
  }
}

TEST_CASE("a decoder that goes on with another file gives the frames of a new one") {
  const TempFolder folder;
  for (const std::string& encoder : those_here({"mpeg4", "libx264", "libx265"})) {
    INFO(encoder);
    const auto index_of = [&](const char* name, int frames, int width) {
      const auto path = folder.path() / fmt::format("{}_{}.mp4", encoder, name);
      write_test_video(path, {.num_frames = frames,
                              .width = width,
                              .height = 64,
                              .keyframe_every = 30,
                              .b_frames = 2,
                              .encoder = encoder});
      return std::make_shared<const VideoIndex>(read_video_index(path));
    };
    const auto first = index_of("first", 90, 64);
    const auto second = index_of("second", 45, 64);
    const auto wider = index_of("wider", 45, 128);
    std::mt19937 draws(1);
    VideoDecoder used(first);
    CHECK(used.is_coded_like(*second));
    CHECK_FALSE(used.is_coded_like(*wider));
    for (int turn = 0; turn < 20; ++turn) {
      const std::int64_t left[] = {static_cast<std::int64_t>(draws()) % 90};
      static_cast<void>(used.read_rgb(left));
      const std::int64_t wanted[] = {static_cast<std::int64_t>(draws()) % 45, 44};
      for (const auto& next : {second, wider}) {
        used.reopen(next);
        CHECK(at::equal(used.read_rgb(wanted), VideoDecoder(next).read_rgb(wanted)));
      }
      used.reopen(first);
    }
  }
}

TEST_CASE("the index of an mp4 is read without its media") {
  const TempFolder folder;
  for (const bool index_first : {false, true}) {
    const auto path = folder.path() / fmt::format("{}.mp4", index_first);
    write_test_video(
        path,
        {.num_frames = 20, .b_frames = 2, .index_first = index_first, .extra_ticks = {0, 3, 5}});
    const auto offsets = read_composition_offsets(path, 1);
    REQUIRE(offsets.has_value());
    CHECK(offsets->size() == 20);
    CHECK_FALSE(read_composition_offsets(path, 2).has_value());
    check_equal(read_video_index(path), read_video_index(path, IndexSource::kPackets));
  }
}

TEST_CASE("a Matroska file, also one that is called mp4, is read by its packets") {
  const TempFolder folder;
  const auto path = folder.path() / "video.mp4";
  write_test_video(path, {.num_frames = 20, .container = "matroska"});
  CHECK_FALSE(read_composition_offsets(path, 1).has_value());
  const VideoIndex index = read_video_index(path);
  CHECK(index.num_frames() == 20);
  check_frames(index);
}

TEST_CASE("boxes that contradict each other are left to the packets") {
  const TempFolder folder;
  const auto path = folder.path() / "video.mp4";
  write_test_video(path, {.num_frames = 20, .b_frames = 2});
  const VideoIndex whole = read_video_index(path);
  std::string bytes;
  {
    std::FILE* file = std::fopen(path.c_str(), "rb");
    bytes.resize(std::filesystem::file_size(path));
    REQUIRE(std::fread(bytes.data(), 1, bytes.size(), file) == bytes.size());
    std::fclose(file);
  }
  for (const char* type : {"ctts", "stsz", "elst", "tkhd"}) {
    INFO(type);
    const auto at = bytes.find(type);
    REQUIRE(at != std::string::npos);
    // The count of entries (the track's number in tkhd) becomes absurd.
    const std::size_t field = at + (std::string(type) == "tkhd" ? 16 : 8);
    std::string broken = bytes;
    broken[field + (std::string(type) == "stsz" ? 4 : 0)] = '\x7f';
    const auto copy = folder.path() / fmt::format("{}.mp4", type);
    std::FILE* file = std::fopen(copy.c_str(), "wb");
    std::fwrite(broken.data(), 1, broken.size(), file);
    std::fclose(file);
    CHECK_FALSE(read_composition_offsets(copy, 1).has_value());
  }
  CHECK(whole.num_frames() == 20);
}

}  // namespace wam::test
