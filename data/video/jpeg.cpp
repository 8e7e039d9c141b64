#include "data/video/jpeg.h"

#include <algorithm>

#include "core/base/errors.h"
#include "data/video/ffmpeg.h"

namespace wam {
namespace {

constexpr int kQuality = 4;  // of 2 (best) to 31

void check(int code, const FfmpegErrors& errors, const char* doing) {
  if (code >= 0) return;
  throw DeviceError(fmt::format("writing a JPEG: {}: {}", doing, errors.describe(code)));
}

CodecHandle open_encoder(int height, int width, const FfmpegErrors& errors) {
  const AVCodec* encoder = avcodec_find_encoder(AV_CODEC_ID_MJPEG);
  require<DeviceError>(encoder != nullptr,
                       "This FFmpeg has no JPEG encoder (mjpeg). Fix: install one that has, or "
                       "build the bundle's again with scripts/build_ffmpeg.sh.");
  CodecHandle codec(avcodec_alloc_context3(encoder));
  check_allocated(codec.get());
  AVCodecContext* context = codec.get();
  context->width = width;
  context->height = height;
  context->pix_fmt = AV_PIX_FMT_YUVJ420P;
  context->time_base = {1, 1};
  context->thread_count = 1;
  context->flags |= AV_CODEC_FLAG_QSCALE | AV_CODEC_FLAG_BITEXACT;
  context->global_quality = kQuality * FF_QP2LAMBDA;
  check(avcodec_open2(context, encoder, nullptr), errors, "opening the encoder");
  return codec;
}

// The frame in the encoder's form.
FrameHandle frame_of(const at::Tensor& rgb_HWC, const AVCodecContext& context) {
  FrameHandle frame(av_frame_alloc());
  check_allocated(frame.get());
  AVFrame* to = frame.get();
  to->format = context.pix_fmt;
  to->width = context.width;
  to->height = context.height;
  to->quality = context.global_quality;
  require<DeviceError>(av_frame_get_buffer(to, 0) >= 0, "FFmpeg could not get memory for a frame.");
  const int height = static_cast<int>(rgb_HWC.size(0));
  const int width = static_cast<int>(rgb_HWC.size(1));
  const ScaleHandle scale(sws_getContext(width, height, AV_PIX_FMT_RGB24, to->width, to->height,
                                         AV_PIX_FMT_YUVJ420P, SWS_AREA, nullptr, nullptr, nullptr));
  check_allocated(scale.get());
  const std::uint8_t* from[4] = {rgb_HWC.const_data_ptr<std::uint8_t>(), nullptr, nullptr, nullptr};
  const int line[4] = {width * 3, 0, 0, 0};
  sws_scale(scale.get(), from, line, 0, height, to->data, to->linesize);
  return frame;
}

}  // namespace

std::string encode_jpeg(const at::Tensor& rgb_HWC, std::int64_t max_width) {
  invariant(rgb_HWC.dim() == 3 && rgb_HWC.size(2) == 3 && rgb_HWC.is_contiguous(),
            "a picture of RGB bytes");
  const FfmpegErrors errors;
  const std::int64_t width = std::min(rgb_HWC.size(1), max_width);
  const std::int64_t height = std::max<std::int64_t>(1, rgb_HWC.size(0) * width / rgb_HWC.size(1));
  const CodecHandle codec = open_encoder(static_cast<int>(height), static_cast<int>(width), errors);
  const FrameHandle frame = frame_of(rgb_HWC, *codec.get());
  const PacketHandle packet(av_packet_alloc());
  check_allocated(packet.get());
  check(avcodec_send_frame(codec.get(), frame.get()), errors, "encoding");
  check(avcodec_receive_packet(codec.get(), packet.get()), errors, "encoding");
  const auto* data = reinterpret_cast<const char*>(packet.get()->data);
  return {data, static_cast<std::size_t>(packet.get()->size)};
}

}  // namespace wam
