#include "data/video/picture.h"

#include <cstring>

#include <ATen/ops/empty.h>

#include "core/base/errors.h"
#include "data/picture_memory/picture_memory.h"
#include "data/video/ffmpeg.h"

namespace wam {
namespace {

// swscale's vector code writes whole groups of pixels; other widths go through a padded buffer.
constexpr int kSafeWidthStep = 32;

bool is_full_range(const AVFrame& frame) {
  return frame.color_range == AVCOL_RANGE_JPEG;
}

AVCodecID codec_of(std::string_view file, const std::string& where) {
  if (file.starts_with("\x89PNG\r\n\x1a\n")) return AV_CODEC_ID_PNG;
  if (file.starts_with("\xff\xd8\xff")) return AV_CODEC_ID_MJPEG;
  throw DataError(
      fmt::format("{}: {} bytes that are neither PNG nor JPEG. Fix: restore the file from "
                  "the dataset's source.",
                  where, file.size()));
}

}  // namespace

struct RgbConverter::Impl {
  ScaleHandle scale;
  int width = 0;
  int height = 0;
  int format = AV_PIX_FMT_NONE;
  int colour_space = 0;
  bool full_range = false;
  at::Tensor padded_HWC;

  void prepare(const AVFrame& frame);
};

void RgbConverter::Impl::prepare(const AVFrame& frame) {
  const int space = static_cast<int>(frame.colorspace);
  if (scale && width == frame.width && height == frame.height && format == frame.format &&
      colour_space == space && full_range == is_full_range(frame)) {
    return;
  }
  width = frame.width;
  height = frame.height;
  format = frame.format;
  colour_space = space;
  full_range = is_full_range(frame);
  scale =
      ScaleHandle(sws_getContext(width, height, static_cast<AVPixelFormat>(format), width, height,
                                 AV_PIX_FMT_RGB24, SWS_BICUBIC, nullptr, nullptr, nullptr));
  require<DataError>(
      static_cast<bool>(scale),
      "FFmpeg cannot convert pictures of pixel format {} to RGB. Fix: encode the video "
      "as yuv420p.",
      format);
  int* inverse = nullptr;
  int* table = nullptr;
  int source_range = 0;
  int target_range = 0;
  int brightness = 0;
  int contrast = 0;
  int saturation = 0;
  if (sws_getColorspaceDetails(scale.get(), &inverse, &source_range, &table, &target_range,
                               &brightness, &contrast, &saturation) >= 0) {
    sws_setColorspaceDetails(scale.get(), sws_getCoefficients(space), full_range ? 1 : source_range,
                             table, target_range, brightness, contrast, saturation);
  }
}

RgbConverter::RgbConverter() : impl_(std::make_unique<Impl>()) {}
RgbConverter::~RgbConverter() = default;

void RgbConverter::convert(const AVFrame& frame, const at::Tensor& rgb_HWC) {
  invariant(
      rgb_HWC.size(0) == frame.height && rgb_HWC.size(1) == frame.width && rgb_HWC.is_contiguous(),
      "the RGB tensor does not fit the frame");
  impl_->prepare(frame);
  const bool direct = frame.width % kSafeWidthStep == 0;
  const std::int64_t padded = (frame.width / kSafeWidthStep + 2) * std::int64_t{kSafeWidthStep};
  if (!direct && (!impl_->padded_HWC.defined() || impl_->padded_HWC.size(0) != frame.height ||
                  impl_->padded_HWC.size(1) != padded)) {
    impl_->padded_HWC = at::empty({frame.height, padded, 3}, at::kByte);
  }
  const at::Tensor& target = direct ? rgb_HWC : impl_->padded_HWC;
  std::uint8_t* to[4] = {target.data_ptr<std::uint8_t>(), nullptr, nullptr, nullptr};
  const int line[4] = {static_cast<int>(target.size(1) * 3), 0, 0, 0};
  sws_scale(impl_->scale.get(), frame.data, frame.linesize, 0, frame.height, to, line);
  if (!direct) rgb_HWC.copy_(target.narrow(1, 0, frame.width));
}

struct PictureDecoder::Impl {
  CodecHandle codec;
  FrameHandle frame{av_frame_alloc()};
  PacketHandle packet{av_packet_alloc()};
  RgbConverter to_rgb;

  void use(AVCodecID id);
};

void PictureDecoder::Impl::use(AVCodecID id) {
  if (codec && codec.get()->codec_id == id) return;
  const AVCodec* found = avcodec_find_decoder(id);
  require<DeviceError>(found != nullptr,
                       "This FFmpeg has no {} decoder. Fix: install one that has.",
                       avcodec_get_name(id));
  codec = CodecHandle(avcodec_alloc_context3(found));
  check_allocated(codec.get());
  codec.get()->thread_count = 1;
  const int code = avcodec_open2(codec.get(), found, nullptr);
  require<DeviceError>(code >= 0, "FFmpeg could not start its {} decoder.", found->name);
}

PictureDecoder::PictureDecoder() : impl_(std::make_unique<Impl>()) {
  check_allocated(impl_->frame.get());
  check_allocated(impl_->packet.get());
}
PictureDecoder::~PictureDecoder() = default;

at::Tensor PictureDecoder::decode(std::string_view file, const std::string& where) {
  const FfmpegErrors errors;
  impl_->use(codec_of(file, where));
  AVPacket* packet = impl_->packet.get();
  int code = av_new_packet(packet, static_cast<int>(file.size()));
  require<DeviceError>(code >= 0, "FFmpeg could not get memory for a picture.");
  std::memcpy(packet->data, file.data(), file.size());
  // Without it the PNG decoder adds the picture to the one before (frames of an MPNG stream do
  // that).
  packet->flags |= AV_PKT_FLAG_KEY;
  AVFrame* frame = impl_->frame.get();
  code = avcodec_send_packet(impl_->codec.get(), packet);
  av_packet_unref(packet);
  if (code >= 0) code = avcodec_receive_frame(impl_->codec.get(), frame);
  avcodec_flush_buffers(impl_->codec.get());
  require<DataError>(
      code >= 0 && frame->decode_error_flags == 0 && (frame->flags & AV_FRAME_FLAG_CORRUPT) == 0,
      "{}: the picture ({} bytes) does not decode: {}. Fix: restore the file from the "
      "dataset's source.",
      where, file.size(), errors.describe(code < 0 ? code : AVERROR_INVALIDDATA));
  at::Tensor rgb_HWC = picture_memory({frame->height, frame->width, 3});
  impl_->to_rgb.convert(*frame, rgb_HWC);
  av_frame_unref(frame);
  return rgb_HWC;
}

}  // namespace wam
