#include "data/video/plain_decoder.h"

#include "core/base/errors.h"

namespace wam {

PlainDecoder::PlainDecoder(const std::filesystem::path& path)
    : path_(path),
      container_(open_video_container(path)),
      codec_(open_video_codec(*container_.stream->codecpar, container_.stream->time_base, path)),
      frame_(av_frame_alloc()),
      packet_(av_packet_alloc()) {
  check_allocated(frame_.get());
  check_allocated(packet_.get());
}

std::int64_t PlainDecoder::decode(std::int64_t keyframe_pts, std::int64_t last_pts) {
  const FfmpegErrors errors;
  const auto check = [&](int code) {
    if (code < 0)
      throw_input_error(fmt::format("decoding the video {}", path_.string()), code, errors);
  };
  check(av_seek_frame(container_.input.get(), container_.stream->index, keyframe_pts,
                      AVSEEK_FLAG_BACKWARD));
  avcodec_flush_buffers(codec_.get());
  for (std::int64_t frames = 0;;) {
    const int code = avcodec_receive_frame(codec_.get(), frame_.get());
    if (code == AVERROR(EAGAIN)) {
      const bool more = read_packet(container_, packet_.get(), path_);
      check(avcodec_send_packet(codec_.get(), more ? packet_.get() : nullptr));
      av_packet_unref(packet_.get());
      continue;
    }
    if (code == AVERROR_EOF) return frames;
    check(code);
    ++frames;
    if (frame_.get()->pts >= last_pts) return frames;
  }
}

}  // namespace wam
