#pragma once

#include <filesystem>

#include "data/video/ffmpeg.h"
#include "data/video/video_index.h"

namespace wam {

// An opened container and its video stream; other streams are skipped. Errors: DataError.
struct VideoContainer {
  InputHandle input;
  AVStream* stream = nullptr;  // owned by `input`
};

VideoContainer open_video_container(const std::filesystem::path& path);

// The same of a file whose index was read before, which knows the stream and how it is coded.
// Errors: DataError.
VideoContainer reopen_video_container(const VideoIndex& index);

// Whether a decoder that was opened for the one decodes the other.
bool are_coded_alike(const AVCodecParameters& a, const AVCodecParameters& b);

// A decoder for streams that are coded so, on the calling thread. Errors: DataError.
CodecHandle open_video_codec(const AVCodecParameters& coding,
                             AVRational time_base,
                             const std::filesystem::path& path);

// The next packet of the stream into `packet`; false at the end. Errors: DataError.
bool read_packet(const VideoContainer& container,
                 AVPacket* packet,
                 const std::filesystem::path& path);

}  // namespace wam
