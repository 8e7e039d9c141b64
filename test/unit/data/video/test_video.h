#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "data/video/ffmpeg.h"

namespace wam::test {

// A small video (by default MPEG-4 part 2 in mp4, which every FFmpeg writes) of grey frames: frame
// i has the brightness grey_of(i), so that a decoded frame tells which one it is.
struct TestVideo {
  int num_frames = 60;
  int width = 64;
  int height = 48;
  int fps = 15;
  int keyframe_every = 12;
  int b_frames = 0;
  bool index_first = false;       // moov before the data
  bool in_fragments = false;      // each keyframe begins one; the header lists no frame
  std::string encoder = "mpeg4";  // of FFmpeg's
  std::string container = "mp4";
  std::vector<std::int64_t> extra_ticks =
      {};  // per frame, added to its time in units of 1 / (16 fps)
};

int grey_of(std::int64_t frame);
bool has_encoder(const std::string& name);
// Errors: InvariantError when FFmpeg refuses.
void write_test_video(const std::filesystem::path& path, const TestVideo& video);
// One picture in a format of FFmpeg's, filled with pseudo-random bytes from `seed`.
std::string encode_test_picture(
    AVCodecID codec, AVPixelFormat format, int width, int height, std::uint8_t seed);

}  // namespace wam::test
