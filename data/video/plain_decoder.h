#pragma once

#include <cstdint>
#include <filesystem>

#include "data/video/container.h"

namespace wam {

// FFmpeg alone: every frame of a stretch of a video, one after the other, on the calling thread.
// What VideoDecoder is compared with.
class PlainDecoder {
 public:
  // Errors: DataError.
  explicit PlainDecoder(const std::filesystem::path& path);
  // Decodes from the keyframe up to the frame shown at `last_pts`, that one included, and returns
  // how many frames came out. Errors: DataError where the video does not decode.
  std::int64_t decode(std::int64_t keyframe_pts, std::int64_t last_pts);

 private:
  std::filesystem::path path_;
  VideoContainer container_;
  CodecHandle codec_;
  FrameHandle frame_;
  PacketHandle packet_;
};

}  // namespace wam
