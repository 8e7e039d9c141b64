#include "test/unit/data/video/test_video.h"

#include <cstring>

extern "C" {
#include <libavutil/imgutils.h>
#include <libavutil/opt.h>
}

#include "core/base/errors.h"

namespace wam::test {
namespace {

constexpr int kTicks = 16;  // per frame

void release_output(AVFormatContext* context) noexcept {
  avio_closep(&context->pb);
  avformat_free_context(context);
}
using OutputHandle = UniqueHandle<AVFormatContext*, release_output>;

void check(int code) {
  invariant(code >= 0, "FFmpeg refused to write a test file");
}

CodecHandle open_encoder(const AVCodec* encoder, AVPixelFormat format, int width, int height) {
  invariant(encoder != nullptr, "this FFmpeg lacks an encoder that the test needs");
  CodecHandle codec(avcodec_alloc_context3(encoder));
  codec.get()->width = width;
  codec.get()->height = height;
  codec.get()->pix_fmt = format;
  codec.get()->time_base = {1, 1};
  return codec;
}

FrameHandle new_frame(AVPixelFormat format, int width, int height) {
  FrameHandle frame(av_frame_alloc());
  frame.get()->format = format;
  frame.get()->width = width;
  frame.get()->height = height;
  check(av_frame_get_buffer(frame.get(), 0));
  return frame;
}

void write_packets(AVCodecContext* codec, AVFormatContext* output, AVPacket* packet) {
  while (avcodec_receive_packet(codec, packet) >= 0) {
    packet->duration = kTicks;  // without it the file's edit list hides the last frame
    av_packet_rescale_ts(packet, codec->time_base, output->streams[0]->time_base);
    check(av_interleaved_write_frame(output, packet));
  }
}

// High enough that a grey frame keeps its level, and fast.
void set_quality(AVCodecContext& c, const std::string& encoder) {
  if (encoder == "mpeg4") {
    c.global_quality = 2 * FF_QP2LAMBDA;
    c.flags |= AV_CODEC_FLAG_QSCALE;
    return;
  }
  check(av_opt_set(c.priv_data, "crf", "10", 0));
  if (encoder == "libaom-av1") {
    check(av_opt_set(c.priv_data, "cpu-used", "8", 0));
  } else {
    check(av_opt_set(c.priv_data, "preset", "ultrafast", 0));
  }
  if (encoder == "libx265") check(av_opt_set(c.priv_data, "x265-params", "log-level=none", 0));
}

}  // namespace

bool has_encoder(const std::string& name) {
  return avcodec_find_encoder_by_name(name.c_str()) != nullptr;
}

int grey_of(std::int64_t frame) {
  return static_cast<int>(30 + frame * 7 % 180);
}

void write_test_video(const std::filesystem::path& path, const TestVideo& video) {
  CodecHandle codec = open_encoder(avcodec_find_encoder_by_name(video.encoder.c_str()),
                                   AV_PIX_FMT_YUV420P, video.width, video.height);
  AVCodecContext* c = codec.get();
  c->time_base = {1, video.fps * kTicks};
  c->framerate = {video.fps, 1};
  c->gop_size = video.keyframe_every;
  c->max_b_frames = video.b_frames;
  c->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
  set_quality(*c, video.encoder);
  c->thread_count = 1;
  check(avcodec_open2(c, c->codec, nullptr));
  AVFormatContext* made = nullptr;
  check(avformat_alloc_output_context2(&made, nullptr, video.container.c_str(), path.c_str()));
  const OutputHandle output(made);
  AVStream* stream = avformat_new_stream(made, nullptr);
  check(avcodec_parameters_from_context(stream->codecpar, c));
  stream->time_base = c->time_base;
  check(avio_open(&made->pb, path.c_str(), AVIO_FLAG_WRITE));
  AVDictionary* options = nullptr;
  if (video.index_first) av_dict_set(&options, "movflags", "faststart", 0);
  if (video.in_fragments) av_dict_set(&options, "movflags", "frag_keyframe+empty_moov", 0);
  const int code = avformat_write_header(made, &options);
  av_dict_free(&options);
  check(code);
  const PacketHandle packet(av_packet_alloc());
  for (int i = 0; i < video.num_frames; ++i) {
    FrameHandle frame = new_frame(AV_PIX_FMT_YUV420P, video.width, video.height);
    AVFrame* f = frame.get();
    std::memset(f->data[0], grey_of(i), static_cast<std::size_t>(f->linesize[0] * video.height));
    std::memset(f->data[1], 128, static_cast<std::size_t>(f->linesize[1] * video.height / 2));
    std::memset(f->data[2], 128, static_cast<std::size_t>(f->linesize[2] * video.height / 2));
    const auto at = static_cast<std::size_t>(i);
    f->pts = i * kTicks + (at < video.extra_ticks.size() ? video.extra_ticks[at] : 0);
    check(avcodec_send_frame(c, f));
    write_packets(c, made, packet.get());
  }
  check(avcodec_send_frame(c, nullptr));
  write_packets(c, made, packet.get());
  check(av_write_trailer(made));
}

std::string encode_test_picture(
    AVCodecID id, AVPixelFormat format, int width, int height, std::uint8_t seed) {
  CodecHandle codec = open_encoder(avcodec_find_encoder(id), format, width, height);
  codec.get()->color_range = AVCOL_RANGE_JPEG;
  check(avcodec_open2(codec.get(), codec.get()->codec, nullptr));
  FrameHandle frame = new_frame(format, width, height);
  AVFrame* f = frame.get();
  unsigned value = seed;
  for (int plane = 0; plane < 4 && f->data[plane] != nullptr; ++plane) {
    const int bytes = av_image_get_linesize(format, width, plane);
    for (int y = 0; y < (plane == 0 ? height : height / 2); ++y) {
      for (int x = 0; x < bytes; ++x) {
        value = value * 1103515245U + 12345U;
        f->data[plane][y * f->linesize[plane] + x] = static_cast<std::uint8_t>(value >> 16U);
      }
    }
  }
  f->pts = 0;
  check(avcodec_send_frame(codec.get(), f));
  const PacketHandle packet(av_packet_alloc());
  int code = avcodec_receive_packet(codec.get(), packet.get());
  if (code == AVERROR(EAGAIN)) {
    check(avcodec_send_frame(codec.get(), nullptr));
    code = avcodec_receive_packet(codec.get(), packet.get());
  }
  check(code);
  return {reinterpret_cast<const char*>(packet.get()->data),
          static_cast<std::size_t>(packet.get()->size)};
}

}  // namespace wam::test
