#pragma once

#include <string>

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/frame.h>
#include <libswscale/swscale.h>
}

#include "core/base/unique_handle.h"

namespace wam {

// Owners of FFmpeg's objects and its error texts. For the sources of data/video only.

inline void release_input(AVFormatContext* context) noexcept {
  avformat_close_input(&context);
}
inline void release_codec(AVCodecContext* context) noexcept {
  avcodec_free_context(&context);
}
inline void release_parameters(AVCodecParameters* parameters) noexcept {
  avcodec_parameters_free(&parameters);
}
inline void release_frame(AVFrame* frame) noexcept {
  av_frame_free(&frame);
}
inline void release_packet(AVPacket* packet) noexcept {
  av_packet_free(&packet);
}
using InputHandle = UniqueHandle<AVFormatContext*, release_input>;
using CodecHandle = UniqueHandle<AVCodecContext*, release_codec>;
using ParametersHandle = UniqueHandle<AVCodecParameters*, release_parameters>;
using FrameHandle = UniqueHandle<AVFrame*, release_frame>;
using PacketHandle = UniqueHandle<AVPacket*, release_packet>;
using ScaleHandle = UniqueHandle<SwsContext*, sws_freeContext>;

// While it lives, what FFmpeg reports as an error on this thread is collected here instead of being
// printed; without one it is dropped. (Decoders run on the calling thread only, so nothing is
// missed.)
class FfmpegErrors {
 public:
  FfmpegErrors();
  ~FfmpegErrors();
  FfmpegErrors(const FfmpegErrors&) = delete;
  FfmpegErrors& operator=(const FfmpegErrors&) = delete;
  FfmpegErrors(FfmpegErrors&&) = delete;
  FfmpegErrors& operator=(FfmpegErrors&&) = delete;

  // "moov atom not found (Invalid data found when processing input)".
  [[nodiscard]] std::string describe(int code) const;

 private:
  std::string text_;
  std::string* outer_;
};

// Throws for a code of reading: ReadError where the file system refused, DataError where FFmpeg
// found fault with what it read. "{doing}: {what FFmpeg says}. Fix: …".
[[noreturn]] void throw_input_error(const std::string& doing, int code, const FfmpegErrors& errors);

// `handle`, or DeviceError when FFmpeg had no memory for it.
void check_allocated(const void* object);

// Errors: DeviceError, as above.
ParametersHandle copy_of(const AVCodecParameters& parameters);

}  // namespace wam
