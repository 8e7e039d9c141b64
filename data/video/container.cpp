#include "data/video/container.h"

#include "core/base/errors.h"

namespace wam {

VideoContainer open_video_container(const std::filesystem::path& path) {
  require<DataError>(std::filesystem::exists(path),
                     "opening the video {}: no such file. Fix: restore the file from the dataset's "
                     "source.",
                     path.string());
  const FfmpegErrors errors;
  VideoContainer out;
  AVFormatContext* context = nullptr;
  int code = avformat_open_input(&context, path.c_str(), nullptr, nullptr);
  require<DataError>(code >= 0,
                     "opening the video {} ({} bytes): {}. Fix: the file is damaged or cut off; "
                     "restore it from the dataset's source.",
                     path.string(), std::filesystem::file_size(path), errors.describe(code));
  out.input = InputHandle(context);
  code = avformat_find_stream_info(context, nullptr);
  require<DataError>(
      code >= 0,
      "opening the video {}: {}. Fix: the file is damaged or cut off; restore it from "
      "the dataset's source.",
      path.string(), errors.describe(code));
  const int stream = av_find_best_stream(context, AVMEDIA_TYPE_VIDEO, -1, -1, nullptr, 0);
  require<DataError>(stream >= 0,
                     "opening the video {} ({} bytes): it holds no readable video stream. Fix: the "
                     "file is damaged "
                     "or cut off; restore it from the dataset's source.",
                     path.string(), std::filesystem::file_size(path));
  for (unsigned i = 0; i < context->nb_streams; ++i) {
    if (static_cast<int>(i) != stream) context->streams[i]->discard = AVDISCARD_ALL;
  }
  out.stream = context->streams[stream];
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
    require<DataError>(
        code >= 0,
        "reading the video {}: {}. Fix: the file is damaged or cut off; restore it from "
        "the dataset's source.",
        path.string(), errors.describe(code));
    if (packet->stream_index == container.stream->index) return true;
  }
}

}  // namespace wam
