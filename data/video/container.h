#pragma once

#include <filesystem>

#include "data/video/ffmpeg.h"

namespace wam {

// An opened container and its video stream; other streams are skipped. Errors: DataError.
struct VideoContainer {
  InputHandle input;
  AVStream* stream = nullptr;  // owned by `input`
};

VideoContainer open_video_container(const std::filesystem::path& path);

struct OpenCodec {
  CodecHandle codec;
  ParametersHandle opened_for;
};

// A decoder for it, on the calling thread. Errors: DataError.
OpenCodec open_video_codec(const VideoContainer& container, const std::filesystem::path& path);

// The next packet of the stream into `packet`; false at the end. Errors: DataError.
bool read_packet(const VideoContainer& container,
                 AVPacket* packet,
                 const std::filesystem::path& path);

}  // namespace wam
