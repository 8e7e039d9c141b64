#include "data/video/container.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "core/base/data_errors.h"
#include "core/base/now_reading.h"

namespace wam {
namespace {

// Whether the header alone says enough to read packets.
bool is_described(const AVFormatContext& context) {
  if (std::string_view(context.iformat->name).find("mp4") == std::string_view::npos) return false;
  const std::span<AVStream* const> streams(context.streams, context.nb_streams);
  return std::all_of(streams.begin(), streams.end(), [](const AVStream* stream) {
    const AVCodecParameters& p = *stream->codecpar;
    return p.codec_type != AVMEDIA_TYPE_VIDEO ||
           (p.codec_id != AV_CODEC_ID_NONE && p.width > 0 && p.height > 0);
  });
}

// "opening the video FILE (9 bytes)"
std::string opening(const std::filesystem::path& path) {
  std::error_code why;
  const bool is_there = std::filesystem::exists(path, why);
  require<ReadError>(is_there,
                     "opening the video {}: {}. Fix: restore the file from the dataset's source.",
                     path.string(), why ? why.message() : "no such file");
  return fmt::format("opening the video {} ({} bytes)", path.string(),
                     std::filesystem::file_size(path, why));
}

InputHandle open_input(const std::filesystem::path& path,
                       const std::string& doing,
                       const FfmpegErrors& errors) {
  AVFormatContext* context = nullptr;
  const int code = avformat_open_input(&context, path.c_str(), nullptr, nullptr);
  if (code < 0) throw_input_error(doing, code, errors);
  return InputHandle(context);
}

void probe(AVFormatContext* context, const std::string& doing, const FfmpegErrors& errors) {
  const int code = avformat_find_stream_info(context, nullptr);
  if (code < 0) throw_input_error(doing, code, errors);
}

VideoContainer with_stream(InputHandle input, int stream, const std::string& doing) {
  const std::span<AVStream*> streams(input.get()->streams, input.get()->nb_streams);
  require<DataError>(stream >= 0 && static_cast<std::size_t>(stream) < streams.size(),
                     "{}: it holds no readable video stream. Fix: the file is damaged or cut off; "
                     "restore it from the dataset's source.",
                     doing);
  for (AVStream* other : streams) {
    if (other->index != stream) other->discard = AVDISCARD_ALL;
  }
  return {std::move(input), streams[static_cast<std::size_t>(stream)]};
}

}  // namespace

VideoContainer open_video_container(const std::filesystem::path& path) {
  const Reading reading(path);
  const std::string doing = opening(path);
  const FfmpegErrors errors;
  InputHandle input = open_input(path, doing, errors);
  probe(input.get(), doing, errors);
  const int stream = av_find_best_stream(input.get(), AVMEDIA_TYPE_VIDEO, -1, -1, nullptr, 0);
  return with_stream(std::move(input), stream, doing);
}

// To find out how a stream is coded, FFmpeg decodes up to twenty frames with a decoder of its own.
// A parser would be made anew at every seek and read the stream's parameter sets again; a sample of
// an mp4 is a frame and needs none.
VideoContainer reopen_video_container(const VideoIndex& index) {
  const Reading reading(index.path);
  const std::string doing = opening(index.path);
  const FfmpegErrors errors;
  InputHandle input = open_input(index.path, doing, errors);
  if (is_described(*input.get())) {
    input.get()->flags |= AVFMT_FLAG_NOPARSE | AVFMT_FLAG_NOFILLIN;
  } else {
    probe(input.get(), doing, errors);
  }
  return with_stream(std::move(input), index.stream, doing);
}

bool are_coded_alike(const AVCodecParameters& a, const AVCodecParameters& b) {
  const auto coding = [](const AVCodecParameters& p) {
    return std::tie(p.codec_id, p.codec_tag, p.format, p.profile, p.level, p.width, p.height,
                    p.bits_per_coded_sample, p.video_delay, p.color_range, p.color_space,
                    p.extradata_size);
  };
  return coding(a) == coding(b) &&
         (a.extradata_size == 0 ||
          std::memcmp(a.extradata, b.extradata, static_cast<std::size_t>(a.extradata_size)) == 0);
}

CodecHandle open_video_codec(const AVCodecParameters& coding,
                             AVRational time_base,
                             const std::filesystem::path& path) {
  const AVCodec* decoder = avcodec_find_decoder(coding.codec_id);
  require<DataError>(
      decoder != nullptr,
      "the video {} is coded as {}, which this FFmpeg cannot decode. Fix: install an "
      "FFmpeg that can, or encode the videos as h264.",
      path.string(), avcodec_get_name(coding.codec_id));
  CodecHandle out(avcodec_alloc_context3(decoder));
  check_allocated(out.get());
  const FfmpegErrors errors;
  int code = avcodec_parameters_to_context(out.get(), &coding);
  out.get()->thread_count = 1;
  out.get()->pkt_timebase = time_base;
  if (code >= 0) code = avcodec_open2(out.get(), decoder, nullptr);
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
