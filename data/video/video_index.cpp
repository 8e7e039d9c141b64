#include "data/video/video_index.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/base/errors.h"
#include "core/base/now_reading.h"
#include "data/video/container.h"
#include "data/video/sample_table.h"

namespace wam {
namespace {

constexpr const char* kRestore = "Fix: restore the file from the dataset's source.";

// How far a file was read.
struct Scan {
  std::int64_t whole = 0;     // frames that are there
  std::int64_t promised = 0;  // frames that the container's own index lists
};

void add_frame(VideoIndex& index, std::int64_t pts, bool is_key, bool is_shown) {
  if (is_key) index.keyframes.push_back(pts);
  if (is_key && is_shown) ++index.num_keyframes;
  if (is_shown) index.pts.push_back(pts);
}

// The frames of an mp4 by its index alone, so that a file of any size costs the same: what FFmpeg
// made of it (decoding times, keyframes, edits) and the offsets that it keeps to itself.
std::optional<Scan> scan_sample_table(const VideoContainer& container, VideoIndex& index) {
  const auto offsets = read_composition_offsets(index.path, container.stream->id);
  const int entries = avformat_index_get_entries_count(container.stream);
  if (!offsets || static_cast<std::size_t>(entries) != offsets->size()) return std::nullopt;
  const auto file_bytes = static_cast<std::int64_t>(std::filesystem::file_size(index.path));
  Scan scan{0, entries};
  for (int i = 0; i < entries; ++i) {
    const AVIndexEntry* entry = avformat_index_get_entry(container.stream, i);
    if (entry->pos + entry->size > file_bytes) break;
    ++scan.whole;
    add_frame(index, entry->timestamp + (*offsets)[static_cast<std::size_t>(i)],
              (entry->flags & AVINDEX_KEYFRAME) != 0, (entry->flags & AVINDEX_DISCARD_FRAME) == 0);
  }
  return scan;
}

Scan scan_packets(const VideoContainer& container, VideoIndex& index) {
  const PacketHandle packet(av_packet_alloc());
  check_allocated(packet.get());
  Scan scan;
  bool is_short = false;
  while (!is_short && read_packet(container, packet.get(), index.path)) {
    const AVPacket& p = *packet.get();
    require<DataError>(
        p.pts != AV_NOPTS_VALUE,
        "reading the video {}: packet {} has no presentation time. Fix: write the video "
        "as mp4.",
        index.path.string(), scan.whole);
    is_short = (p.flags & AV_PKT_FLAG_CORRUPT) != 0;
    if (is_short) break;
    ++scan.whole;
    add_frame(index, p.pts, (p.flags & AV_PKT_FLAG_KEY) != 0, (p.flags & AV_PKT_FLAG_DISCARD) == 0);
  }
  scan.promised = std::max<std::int64_t>(avformat_index_get_entries_count(container.stream),
                                         scan.whole + (is_short ? 1 : 0));
  return scan;
}

}  // namespace

double VideoIndex::average_rate() const {
  const auto span = static_cast<double>(pts.back() - pts.front()) * time_base;
  return span > 0 ? static_cast<double>(num_frames() - 1) / span : 0;
}

std::int64_t VideoIndex::ordinal_at(double time_s) const {
  const auto target = time_s / time_base;
  const auto after = std::lower_bound(pts.begin(), pts.end(), target, [](std::int64_t p, double t) {
    return static_cast<double>(p) < t;
  });
  if (after == pts.begin()) return 0;
  if (after == pts.end()) return num_frames() - 1;
  const bool earlier =
      target - static_cast<double>(*(after - 1)) < static_cast<double>(*after) - target;
  return after - pts.begin() - (earlier ? 1 : 0);
}

std::int64_t VideoIndex::keyframe_before(std::int64_t ordinal) const {
  const std::int64_t wanted = pts[static_cast<std::size_t>(ordinal)];
  const auto after = std::upper_bound(keyframes.begin(), keyframes.end(), wanted);
  require<DataError>(after != keyframes.begin(),
                     "the video {}: no keyframe at or before frame {}. {}", path.string(), ordinal,
                     kRestore);
  return *(after - 1);
}

VideoIndex read_video_index(const std::filesystem::path& path, IndexSource source) {
  const Reading reading(path);
  const VideoContainer container = open_video_container(path);
  VideoIndex index;
  index.path = path;
  index.stream = container.stream->index;
  index.height = container.stream->codecpar->height;
  index.width = container.stream->codecpar->width;
  index.time_base = av_q2d(container.stream->time_base);
  index.coding = {copy_of(*container.stream->codecpar).release(), release_parameters};
  std::optional<Scan> quick;
  if (source == IndexSource::kContainer) quick = scan_sample_table(container, index);
  const Scan scan = quick ? *quick : scan_packets(container, index);
  require<DataError>(
      scan.whole >= scan.promised,
      "reading the video {}: the file ({} bytes) is cut off: it promises {} frames and "
      "ends in frame {}. {}",
      path.string(), std::filesystem::file_size(path), scan.promised, scan.whole, kRestore);
  require<DataError>(!index.pts.empty(), "reading the video {}: it holds no frame. {}",
                     path.string(), kRestore);
  std::sort(index.pts.begin(), index.pts.end());
  std::sort(index.keyframes.begin(), index.keyframes.end());
  const auto twin = std::adjacent_find(index.pts.begin(), index.pts.end());
  require<DataError>(twin == index.pts.end(),
                     "reading the video {}: frames {} and {} have the same presentation time. {}",
                     path.string(), twin - index.pts.begin(), twin - index.pts.begin() + 1,
                     kRestore);
  return index;
}

}  // namespace wam
