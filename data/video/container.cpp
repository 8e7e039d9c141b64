#include "data/video/container.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "core/base/data_errors.h"
#include "core/base/now_reading.h"

namespace wam {
namespace {

// Whether the header alone says how the videos are coded, delay of B-frames included.
bool is_described(const AVFormatContext& context) {
  if (std::string_view(context.iformat->name).find("mp4") == std::string_view::npos) return false;
  const std::span<AVStream* const> streams(context.streams, context.nb_streams);
  return std::all_of(streams.begin(), streams.end(), [](const AVStream* stream) {
    const AVCodecParameters& p = *stream->codecpar;
    return p.codec_type != AVMEDIA_TYPE_VIDEO ||
           (p.codec_id != AV_CODEC_ID_NONE && p.width > 0 && p.height > 0);
  });
}

}  // namespace

VideoContainer open_video_container(const std::filesystem::path& path) {
  const Reading reading(path);
  std::error_code why;
  const bool is_there = std::filesystem::exists(path, why);
  require<ReadError>(is_there,
                     "opening the video {}: {}. Fix: restore the file from the dataset's source.",
                     path.string(), why ? why.message() : "no such file");
  const std::string doing = fmt::format("opening the video {} ({} bytes)", path.string(),
                                        std::filesystem::file_size(path, why));
  const FfmpegErrors errors;
  VideoContainer out;
  AVFormatContext* context = nullptr;
  int code = avformat_open_input(&context, path.c_str(), nullptr, nullptr);
  if (code < 0) throw_input_error(doing, code, errors);
  out.input = InputHandle(context);
  // Which decodes up to twenty frames to find out what an mp4 says in its header.
  if (!is_described(*context)) {
    code = avformat_find_stream_info(context, nullptr);
    if (code < 0) throw_input_error(doing, code, errors);
  }
  const int stream = av_find_best_stream(context, AVMEDIA_TYPE_VIDEO, -1, -1, nullptr, 0);
  require<DataError>(stream >= 0,
                     "{}: it holds no readable video stream. Fix: the file is damaged or cut off; "
                     "restore it from the dataset's source.",
                     doing);
  for (unsigned i = 0; i < context->nb_streams; ++i) {
    if (static_cast<int>(i) != stream) context->streams[i]->discard = AVDISCARD_ALL;
  }
  out.stream = context->streams[stream];
  return out;
}

OpenCodec open_video_codec(const VideoContainer& container, const std::filesystem::path& path) {
  const AVCodecParameters* parameters = container.stream->codecpar;
  const AVCodec* decoder = avcodec_find_decoder(parameters->codec_id);
  require<DataError>(
      decoder != nullptr,
      "the video {} is coded as {}, which this FFmpeg cannot decode. Fix: install an "
      "FFmpeg that can, or encode the videos as h264.",
      path.string(), avcodec_get_name(parameters->codec_id));
  OpenCodec out{CodecHandle(avcodec_alloc_context3(decoder)),
                ParametersHandle(avcodec_parameters_alloc())};
  const CodecHandle& codec = out.codec;
  check_allocated(codec.get());
  check_allocated(out.opened_for.get());
  const FfmpegErrors errors;
  int code = avcodec_parameters_copy(out.opened_for.get(), parameters);
  if (code >= 0) code = avcodec_parameters_to_context(codec.get(), parameters);
  codec.get()->thread_count = 1;
  codec.get()->pkt_timebase = container.stream->time_base;
  if (code >= 0) code = avcodec_open2(codec.get(), decoder, nullptr);
  require<DataError>(code >= 0,
                     "the video {}: its {} decoder does not start: {}. Fix: restore the file.",
                     path.string(), decoder->name, errors.describe(code));
  return out;
}

bool read_packet(const VideoContainer& container,
                 AVPacket* packet,
                 const std::filesystem::path& path) {
  const FfmpegErrors errors;
  while (true) {
    av_packet_unref(packet);
    const int code = av_read_frame(container.input.get(), packet);
    if (code == AVERROR_EOF) return false;
    if (code < 0) {
      throw_input_error(fmt::format("reading the video {}", path.string()), code, errors);
    }
    if (packet->stream_index == container.stream->index) return true;
  }
}

}  // namespace wam
