#include "data/video/video_decoder.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>

extern "C" {
#include <libavutil/pixdesc.h>
}

#include <ATen/ops/empty.h>

#include "core/base/errors.h"
#include "core/base/now_reading.h"
#include "data/picture_memory/picture_memory.h"
#include "data/video/container.h"
#include "data/video/picture.h"

namespace wam {
namespace {

bool is_damaged(const AVFrame& frame) {
  return frame.decode_error_flags != 0 || (frame.flags & AV_FRAME_FLAG_CORRUPT) != 0;
}

}  // namespace

struct VideoDecoder::Impl {
  std::shared_ptr<const VideoIndex> index;
  VideoContainer container;
  CodecHandle context;
  FrameHandle frame{av_frame_alloc()};
  PacketHandle packet{av_packet_alloc()};
  RgbConverter to_rgb;
  std::int64_t start_pts = 0;            // the keyframe that decoding started from
  std::int64_t shown_pts = 0;            // the last frame that came out
  std::int64_t left_out_pts = 0;         // the latest frame that was sent and not decoded
  std::vector<std::int64_t> wanted_pts;  // of the call in hand, ascending
  std::vector<std::int64_t> held_pts;    // sent to the decoder, and not shown yet
  bool is_closed = false;                // the decoder was told that no packet comes any more
  bool is_running = false;               // false: a jump must come first
  bool has_packet = false;               // `packet` was read and not sent yet
  bool was_told = false;                 // the decoder, how this file is coded

  void open(std::shared_ptr<const VideoIndex> file);
  [[nodiscard]] AVCodecContext* codec() const noexcept { return context.get(); }
  [[nodiscard]] bool is_frame(std::int64_t ordinal) const {
    return ordinal >= 0 && ordinal < index->num_frames();
  }
  [[nodiscard]] bool worth_a_jump(std::int64_t ordinal) const;
  void jump_to(std::int64_t keyframe_pts);
  bool try_jump(std::int64_t to_pts, std::int64_t latest_start_pts);
  // Decodes forward to the frame and leaves it in `frame`.
  void decode(std::int64_t ordinal);
  void decode_until(std::int64_t ordinal);
  [[nodiscard]] bool is_last_of_its_run(std::int64_t ordinal) const;
  void decode_frames(std::span<const std::int64_t> ordinals,
                     const std::function<void(std::size_t)>& visit);
  bool next_frame(std::int64_t ordinal, bool is_last);
  void feed(std::int64_t ordinal, bool is_last, const FfmpegErrors& errors);
  void prepare_packet();
  void tell_coding();
  [[nodiscard]] DataError broken(std::int64_t ordinal, const std::string& why) const;
};

DataError VideoDecoder::Impl::broken(std::int64_t ordinal, const std::string& why) const {
  return DataError(
      fmt::format("decoding frame {} of the video {}: {}. Fix: restore the file from the "
                  "dataset's source, or remove the episode.",
                  ordinal, index->path.string(), why));
}

void VideoDecoder::Impl::open(std::shared_ptr<const VideoIndex> file) {
  const bool keeps_context =
      context.get() != nullptr && are_coded_alike(*index->coding, *file->coding);
  is_running = was_told = has_packet = false;
  container = {};
  index = std::move(file);
  container = reopen_video_container(*index);
  const AVRational time_base = container.stream->time_base;
  if (keeps_context) {
    avcodec_flush_buffers(codec());
    codec()->pkt_timebase = time_base;
  } else {
    context = {};
    context = open_video_codec(*index->coding, time_base, index->path);
  }
}

bool VideoDecoder::Impl::worth_a_jump(std::int64_t ordinal) const {
  const std::int64_t wanted = index->pts[static_cast<std::size_t>(ordinal)];
  if (!is_running || wanted <= shown_pts) return true;
  const std::int64_t keyframe = index->keyframe_before(ordinal);
  if (keyframe <= shown_pts) return false;
  const auto shown = std::upper_bound(index->pts.begin(), index->pts.end(), shown_pts);
  const auto start = std::lower_bound(index->pts.begin(), index->pts.end(), keyframe);
  // What a jump saves, against the frames that the decoder holds back for reordering: a flush loses
  // them, and they are decoded once more.
  return start - shown > 2 * std::int64_t{codec()->has_b_frames};
}

// Containers seek by decoding time, and some land on a keyframe after the one asked for: then the
// keyframes before it are tried.
void VideoDecoder::Impl::jump_to(std::int64_t keyframe_pts) {
  const auto& keys = index->keyframes;
  auto after = std::upper_bound(keys.begin(), keys.end(), keyframe_pts);
  while (after != keys.begin()) {
    --after;
    if (try_jump(*after, keyframe_pts)) return;
  }
  throw DataError(
      fmt::format("seeking in the video {}: its keyframe at {:.3f} s cannot be reached. Fix: "
                  "restore the file from the dataset's source.",
                  index->path.string(), static_cast<double>(keyframe_pts) * index->time_base));
}

bool VideoDecoder::Impl::try_jump(std::int64_t to_pts, std::int64_t latest_start_pts) {
  const FfmpegErrors errors;
  const int code =
      av_seek_frame(container.input.get(), index->stream, to_pts, AVSEEK_FLAG_BACKWARD);
  if (code < 0) {
    throw_input_error(fmt::format("seeking in the video {}", index->path.string()), code, errors);
  }
  avcodec_flush_buffers(codec());
  has_packet = read_packet(container, packet.get(), index->path);
  if (!has_packet || packet.get()->pts > latest_start_pts) return false;
  start_pts = packet.get()->pts;
  shown_pts = left_out_pts = start_pts - 1;
  held_pts.clear();
  is_closed = false;
  return true;
}

// The file that a context was used for before may have brought other parameter sets between its
// frames.
void VideoDecoder::Impl::tell_coding() {
  const AVCodecParameters& coding = *index->coding;
  if (coding.extradata_size <= 0) return;
  const auto size = static_cast<std::size_t>(coding.extradata_size);
  std::uint8_t* out = av_packet_new_side_data(packet.get(), AV_PKT_DATA_NEW_EXTRADATA, size);
  check_allocated(out);
  std::memcpy(out, coding.extradata, size);
}

// A frame that nobody wants and no other refers to need not be decoded: with B-frames that is half
// of those between a keyframe and the wanted ones.
void VideoDecoder::Impl::prepare_packet() {
  if (!was_told) tell_coding();
  was_told = true;
  const std::int64_t pts = packet.get()->pts;
  const bool wanted = std::binary_search(wanted_pts.begin(), wanted_pts.end(), pts);
  codec()->skip_frame = wanted ? AVDISCARD_DEFAULT : AVDISCARD_NONREF;
  if (!wanted) left_out_pts = std::max(left_out_pts, pts);
  held_pts.push_back(pts);
}

// The next packet to the decoder. None at the end of the stream, or when the last frame of a run
// was sent: then the decoder hands out what it holds back, and later frames cost nothing.
void VideoDecoder::Impl::feed(std::int64_t ordinal, bool is_last, const FfmpegErrors& errors) {
  const std::int64_t pts = index->pts[static_cast<std::size_t>(ordinal)];
  is_closed = is_last && std::find(held_pts.begin(), held_pts.end(), pts) != held_pts.end();
  if (!is_closed && !has_packet) has_packet = read_packet(container, packet.get(), index->path);
  const bool sends = !is_closed && has_packet;
  if (sends) prepare_packet();
  const int code = avcodec_send_packet(codec(), sends ? packet.get() : nullptr);
  av_packet_unref(packet.get());
  has_packet = false;
  if (code < 0) throw broken(ordinal, errors.describe(code));
}

// The decoder's next frame into `frame`; false at the end of the stream.
bool VideoDecoder::Impl::next_frame(std::int64_t ordinal, bool is_last) {
  const FfmpegErrors errors;
  while (true) {
    const int code = avcodec_receive_frame(codec(), frame.get());
    if (code == AVERROR_EOF) return false;
    if (code == AVERROR(EAGAIN)) {
      feed(ordinal, is_last, errors);
      continue;
    }
    if (code < 0) throw broken(ordinal, errors.describe(code));
    // Pictures shown before the keyframe may lack what they refer to: nobody asked for them.
    if (frame.get()->pts >= start_pts && is_damaged(*frame.get())) {
      throw broken(ordinal, errors.describe(AVERROR_INVALIDDATA));
    }
    return true;
  }
}

// The next wanted frame has a keyframe of its own, and there are others before that one.
bool VideoDecoder::Impl::is_last_of_its_run(std::int64_t ordinal) const {
  const auto& pts = index->pts;
  const auto at = pts.begin() + ordinal;
  const auto next = std::upper_bound(wanted_pts.begin(), wanted_pts.end(), *at);
  if (next == wanted_pts.end()) return false;  // a later call may go on from here
  const auto next_at = std::lower_bound(at, pts.end(), *next);
  return index->keyframe_before(next_at - pts.begin()) > *(at + 1);
}

void VideoDecoder::Impl::decode_until(std::int64_t ordinal) {
  const std::int64_t pts = index->pts[static_cast<std::size_t>(ordinal)];
  const bool is_last = is_last_of_its_run(ordinal);
  do {
    if (!next_frame(ordinal, is_last)) throw broken(ordinal, "the stream ended before it");
    shown_pts = frame.get()->pts;
    std::erase_if(held_pts, [&](std::int64_t held) { return held <= shown_pts; });
    if (shown_pts > pts) throw broken(ordinal, "the decoder left it out");
  } while (shown_pts != pts);
}

void VideoDecoder::Impl::decode(std::int64_t ordinal) {
  require<DataError>(
      is_frame(ordinal),
      "the video {} has no frame {}: it holds {} frames. Fix: the episode list and the "
      "video disagree; restore the file from the dataset's source.",
      index->path.string(), ordinal, index->num_frames());
  const bool jump = worth_a_jump(ordinal);
  is_running = false;  // after an error the next call starts afresh
  if (jump) jump_to(index->keyframe_before(ordinal));
  decode_until(ordinal);
  is_running = !is_closed;
  const AVFrame& f = *frame.get();
  if (f.width != index->width || f.height != index->height) {
    throw broken(ordinal, fmt::format("it is {}x{} and the video {}x{}", f.width, f.height,
                                      index->width, index->height));
  }
}

// visit(position in `ordinals`) with the frame in `frame`, in decoding order.
void VideoDecoder::Impl::decode_frames(std::span<const std::int64_t> ordinals,
                                       const std::function<void(std::size_t)>& visit) {
  std::vector<std::size_t> order(ordinals.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return ordinals[a] < ordinals[b]; });
  wanted_pts.clear();
  for (const std::size_t at : order) {
    if (is_frame(ordinals[at]))
      wanted_pts.push_back(index->pts[static_cast<std::size_t>(ordinals[at])]);
  }
  if (wanted_pts.empty() || wanted_pts.front() <= left_out_pts) is_running = false;
  std::int64_t held = -1;
  for (const std::size_t at : order) {
    if (ordinals[at] != held) decode(ordinals[at]);
    held = ordinals[at];
    visit(at);
  }
}

VideoDecoder::VideoDecoder(std::shared_ptr<const VideoIndex> index)
    : impl_(std::make_unique<Impl>()) {
  check_allocated(impl_->frame.get());
  check_allocated(impl_->packet.get());
  impl_->open(std::move(index));
}
VideoDecoder::~VideoDecoder() = default;

void VideoDecoder::reopen(std::shared_ptr<const VideoIndex> index) {
  impl_->open(std::move(index));
}

bool VideoDecoder::is_coded_like(const VideoIndex& other) const {
  return are_coded_alike(*impl_->index->coding, *other.coding);
}

const VideoIndex& VideoDecoder::index() const noexcept {
  return *impl_->index;
}

at::Tensor VideoDecoder::read_rgb(std::span<const std::int64_t> ordinals) {
  const VideoIndex& video = *impl_->index;
  const Reading reading(video.path);
  at::Tensor rgb_THWC =
      picture_memory({static_cast<std::int64_t>(ordinals.size()), video.height, video.width, 3});
  impl_->decode_frames(ordinals, [&](std::size_t at) {
    impl_->to_rgb.convert(*impl_->frame.get(), rgb_THWC.select(0, static_cast<std::int64_t>(at)));
  });
  return rgb_THWC;
}

std::vector<at::Tensor> VideoDecoder::read_planes(std::int64_t ordinal) {
  const std::int64_t one[] = {ordinal};
  impl_->decode_frames(one, [](std::size_t) {});
  const AVFrame& frame = *impl_->frame.get();
  const AVPixFmtDescriptor* format = av_pix_fmt_desc_get(static_cast<AVPixelFormat>(frame.format));
  require<DataError>(format != nullptr && format->nb_components == 3 &&
                         format->comp[0].depth == 8 &&
                         (format->flags & AV_PIX_FMT_FLAG_PLANAR) != 0,
                     "the video {}: its planes are not 8-bit Y, U, V. Fix: encode it as yuv420p.",
                     impl_->index->path.string());
  std::vector<at::Tensor> planes;
  for (int i = 0; i < 3; ++i) {
    const int w_shift = i == 0 ? 0 : format->log2_chroma_w;
    const int h_shift = i == 0 ? 0 : format->log2_chroma_h;
    const std::int64_t height = -((-std::int64_t{frame.height}) >> h_shift);
    const std::int64_t width = -((-std::int64_t{frame.width}) >> w_shift);
    at::Tensor plane_HW = at::empty({height, width}, at::kByte);
    for (std::int64_t y = 0; y < height; ++y) {
      std::memcpy(plane_HW.data_ptr<std::uint8_t>() + y * width,
                  frame.data[i] + y * frame.linesize[i], static_cast<std::size_t>(width));
    }
    planes.push_back(plane_HW);
  }
  return planes;
}

}  // namespace wam
