#include "data/video/container.h"

#include "core/base/data_errors.h"
#include "core/base/now_reading.h"

namespace wam {

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
  code = avformat_find_stream_info(context, nullptr);
  if (code < 0) throw_input_error(doing, code, errors);
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

CodecHandle open_video_codec(const VideoContainer& container, const std::filesystem::path& path) {
  const AVCodecParameters* parameters = container.stream->codecpar;
  const AVCodec* decoder = avcodec_find_decoder(parameters->codec_id);
  require<DataError>(
      decoder != nullptr,
      "the video {} is coded as {}, which this FFmpeg cannot decode. Fix: install an "
      "FFmpeg that can, or encode the videos as h264.",
      path.string(), avcodec_get_name(parameters->codec_id));
  CodecHandle codec(avcodec_alloc_context3(decoder));
  check_allocated(codec.get());
  const FfmpegErrors errors;
  int code = avcodec_parameters_to_context(codec.get(), parameters);
  codec.get()->thread_count = 1;
  codec.get()->pkt_timebase = container.stream->time_base;
  if (code >= 0) code = avcodec_open2(codec.get(), decoder, nullptr);
  require<DataError>(code >= 0,
                     "the video {}: its {} decoder does not start: {}. Fix: restore the file.",
                     path.string(), decoder->name, errors.describe(code));
  return codec;
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
