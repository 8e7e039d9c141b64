#include "data/lerobot_writer/picture_encoder.h"

#include <array>
#include <utility>

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/opt.h>
#include <libswscale/swscale.h>
}

#include "core/base/errors.h"
#include "core/base/names.h"
#include "core/base/unique_handle.h"

namespace wam::lerobot_writer {
namespace {

constexpr int kKeyFrameSpacing = 8;

void free_context(AVCodecContext* context) {
  avcodec_free_context(&context);
}
void free_frame(AVFrame* frame) {
  av_frame_free(&frame);
}
void free_packet(AVPacket* packet) {
  av_packet_free(&packet);
}
void free_output(AVFormatContext* output) {
  avio_closep(&output->pb);
  avformat_free_context(output);
}

using CodecContext = UniqueHandle<AVCodecContext*, free_context>;
using Frame = UniqueHandle<AVFrame*, free_frame>;
using Packet = UniqueHandle<AVPacket*, free_packet>;
using Output = UniqueHandle<AVFormatContext*, free_output>;
using Scaler = UniqueHandle<SwsContext*, sws_freeContext>;

// What is written, for messages.
void check(int code, const std::string& what, const char* doing) {
  if (code >= 0) return;
  std::array<char, AV_ERROR_MAX_STRING_SIZE> reason{};
  av_strerror(code, reason.data(), reason.size());
  throw DeviceError(fmt::format("Writing {}: {} failed: {}.", what, doing, reason.data()));
}

Frame new_frame(AVPixelFormat format, PictureSize size, const std::string& what) {
  Frame frame(av_frame_alloc());
  frame.get()->format = format;
  frame.get()->width = size.width;
  frame.get()->height = size.height;
  check(av_frame_get_buffer(frame.get(), 0), what, "allocating a frame");
  return frame;
}

// Encoders that write what decoders and LeRobot's readers know, best first. x264 chooses otherwise
// with AVX than without (build 164 does, whatever its other options), so its vector code stays
// unused: the same pictures give the same file on every processor.
struct KnownEncoder {
  const char* name = nullptr;
  const char* codec = nullptr;
  std::array<std::pair<const char*, const char*>, 3> options;
};
constexpr std::array<KnownEncoder, 3> kEncoders{{
    {"libx264", "h264", {{{"preset", "medium"}, {"crf", "12"}, {"x264-params", "asm=0"}}}},
    {"libaom-av1", "av1", {{{"crf", "16"}, {"cpu-used", "8"}, {"row-mt", "0"}}}},
    {"mpeg4", "mpeg4", {{{nullptr, nullptr}, {nullptr, nullptr}, {nullptr, nullptr}}}},
}};

const KnownEncoder& known_encoder(const std::string& name) {
  for (const auto& known : kEncoders) {
    if (name == known.name) return known;
  }
  throw InvariantError("an encoder that choose_video_encoder returned");
}

CodecContext open_video_encoder(const std::string& name,
                                PictureSize size,
                                int fps,
                                const std::string& what) {
  const AVCodec* codec = avcodec_find_encoder_by_name(name.c_str());
  invariant(codec != nullptr, "an encoder that choose_video_encoder returned");
  CodecContext context(avcodec_alloc_context3(codec));
  AVCodecContext& c = *context.get();
  c.width = size.width;
  c.height = size.height;
  c.pix_fmt = AV_PIX_FMT_YUV420P;
  c.time_base = {1, fps};
  c.framerate = {fps, 1};
  c.gop_size = kKeyFrameSpacing;
  c.max_b_frames = 0;
  c.thread_count = 1;
  c.flags |= AV_CODEC_FLAG_GLOBAL_HEADER | AV_CODEC_FLAG_BITEXACT;
  if (name == "mpeg4") {
    constexpr int kQuantiser = 2;
    c.flags |= AV_CODEC_FLAG_QSCALE;
    c.global_quality = FF_QP2LAMBDA * kQuantiser;
  }
  for (const auto& [key, value] : known_encoder(name).options) {
    if (key != nullptr) check(av_opt_set(c.priv_data, key, value, 0), what, key);
  }
  check(avcodec_open2(&c, codec, nullptr), what, "opening the encoder");
  return context;
}

}  // namespace

std::vector<std::uint8_t> encode_png(const std::uint8_t* rgb_HWC, PictureSize size) {
  const std::string what = "a PNG picture";
  const AVCodec* codec = avcodec_find_encoder(AV_CODEC_ID_PNG);
  require<DeviceError>(codec != nullptr,
                       "Writing {}: this FFmpeg has no PNG encoder. Fix: install the "
                       "distribution's FFmpeg, or build it with --enable-encoder=png.",
                       what);
  CodecContext context(avcodec_alloc_context3(codec));
  context.get()->width = size.width;
  context.get()->height = size.height;
  context.get()->pix_fmt = AV_PIX_FMT_RGB24;
  context.get()->time_base = {1, 1};
  context.get()->thread_count = 1;
  check(avcodec_open2(context.get(), codec, nullptr), what, "opening the encoder");
  const Frame frame = new_frame(AV_PIX_FMT_RGB24, size, what);
  const std::size_t row_bytes = static_cast<std::size_t>(size.width) * 3;
  for (int row = 0; row < size.height; ++row) {
    const std::uint8_t* source = rgb_HWC + static_cast<std::size_t>(row) * row_bytes;
    std::copy_n(source, row_bytes, frame.get()->data[0] + row * frame.get()->linesize[0]);
  }
  const Packet packet(av_packet_alloc());
  check(avcodec_send_frame(context.get(), frame.get()), what, "encoding");
  check(avcodec_receive_packet(context.get(), packet.get()), what, "encoding");
  return {packet.get()->data, packet.get()->data + packet.get()->size};
}

VideoEncoder choose_video_encoder(const std::string& wanted) {
  std::vector<std::string> known;
  std::vector<std::string> available;
  for (const auto& encoder : kEncoders) {
    known.emplace_back(encoder.name);
    if (avcodec_find_encoder_by_name(encoder.name) == nullptr) continue;
    available.emplace_back(encoder.name);
    if (wanted == "auto" || wanted == encoder.name) return {encoder.name, encoder.codec};
  }
  throw ConfigError(fmt::format(
      "Choosing a video encoder: found {} in this FFmpeg, expected {}. Fix: install FFmpeg with "
      "one of {}, or write the layout with pictures in parquet.",
      available.empty() ? "none that is known here" : join(available),
      wanted == "auto" ? "at least one" : "'" + wanted + "'", join(known)));
}

struct VideoFile::Impl {
  std::string what;
  std::string encoder_name;
  PictureSize size;
  int fps = 0;
  Output output;
  CodecContext encoder;
  Scaler scaler;
  Frame frame;
  Packet packet;
  std::int64_t frames = 0;  // of this encoder
  std::int64_t before = 0;  // of the encoders before it

  // nullptr flushes.
  void encode(AVFrame* input) {
    check(avcodec_send_frame(encoder.get(), input), what, "encoding");
    while (true) {
      const int code = avcodec_receive_packet(encoder.get(), packet.get());
      if (code == AVERROR(EAGAIN) || code == AVERROR_EOF) return;
      check(code, what, "encoding");
      packet.get()->stream_index = 0;
      packet.get()->duration = 1;
      packet.get()->pts += before;
      packet.get()->dts += before;
      av_packet_rescale_ts(packet.get(), encoder.get()->time_base,
                           output.get()->streams[0]->time_base);
      check(av_interleaved_write_frame(output.get(), packet.get()), what, "writing a frame");
    }
  }

  void open_output(const std::filesystem::path& path) {
    AVFormatContext* container = nullptr;
    check(avformat_alloc_output_context2(&container, nullptr, "mp4", path.c_str()), what,
          "creating the container");
    output = Output(container);
    container->flags |= AVFMT_FLAG_BITEXACT;
    AVStream* stream = avformat_new_stream(container, nullptr);
    invariant(stream != nullptr, "a stream in a fresh container");
    stream->time_base = encoder.get()->time_base;
    stream->avg_frame_rate = {fps, 1};
    check(avcodec_parameters_from_context(stream->codecpar, encoder.get()), what,
          "describing the stream");
    check(avio_open(&container->pb, path.c_str(), AVIO_FLAG_WRITE), what, "creating the file");
    check(avformat_write_header(container, nullptr), what, "writing the header");
  }
};

VideoFile::VideoFile(const std::filesystem::path& path,
                     VideoEncoder encoder,
                     PictureSize size,
                     int fps)
    : impl_(std::make_unique<Impl>()) {
  av_log_set_level(AV_LOG_ERROR);  // encoders print a page of statistics for every file
  impl_->what = path.string();
  impl_->encoder_name = encoder.name;
  impl_->size = size;
  impl_->fps = fps;
  impl_->encoder = open_video_encoder(encoder.name, size, fps, impl_->what);
  impl_->open_output(path);
  constexpr int kExact = SWS_BILINEAR | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INP | SWS_BITEXACT;
  impl_->scaler =
      Scaler(sws_getContext(size.width, size.height, AV_PIX_FMT_RGB24, size.width, size.height,
                            AV_PIX_FMT_YUV420P, kExact, nullptr, nullptr, nullptr));
  invariant(static_cast<bool>(impl_->scaler), "a converter from RGB to yuv420p");
  impl_->frame = new_frame(AV_PIX_FMT_YUV420P, size, impl_->what);
  impl_->packet = Packet(av_packet_alloc());
}

VideoFile::~VideoFile() = default;

void VideoFile::begin_episode() {
  if (impl_->frames == 0) return;
  impl_->encode(nullptr);  // an encoder that was flushed takes no more: another goes on
  impl_->before += impl_->frames;
  impl_->frames = 0;  // every episode is encoded as in a file of its own
  impl_->encoder = open_video_encoder(impl_->encoder_name, impl_->size, impl_->fps, impl_->what);
}

std::int64_t VideoFile::bytes() const {
  return avio_tell(impl_->output.get()->pb);
}

void VideoFile::add(const std::uint8_t* rgb_HWC) {
  AVFrame* frame = impl_->frame.get();
  check(av_frame_make_writable(frame), impl_->what, "encoding");
  const std::array<const std::uint8_t*, 4> planes{rgb_HWC};
  const std::array<int, 4> strides{impl_->size.width * 3};
  sws_scale(impl_->scaler.get(), planes.data(), strides.data(), 0, impl_->size.height, frame->data,
            frame->linesize);
  frame->pts = impl_->frames++;
  impl_->encode(frame);
}

void VideoFile::finish() {
  impl_->encode(nullptr);
  check(av_write_trailer(impl_->output.get()), impl_->what, "writing the index");
  check(avio_closep(&impl_->output.get()->pb), impl_->what, "closing the file");
}

}  // namespace wam::lerobot_writer
