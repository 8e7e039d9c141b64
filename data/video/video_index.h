#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

struct AVCodecParameters;  // FFmpeg's

namespace wam {

// Where the frames of a video file are. Built from the container alone: of an mp4 its index is
// read, of other containers every packet once; nothing is decoded. Plain data afterwards, to be
// shared by any number of decoders.
//
// The ordinal of a frame is its place in presentation order, from 0; frames that an edit list hides
// do not count. Times are presentation times (PTS) in units of time_base seconds.
struct VideoIndex {
  std::filesystem::path path;
  int stream = 0;  // in the container
  std::int64_t height = 0;
  std::int64_t width = 0;
  double time_base = 0;
  std::vector<std::int64_t> pts;        // by ordinal, strictly ascending, not empty
  std::vector<std::int64_t> keyframes;  // PTS of the frames where decoding can start, ascending
  std::int64_t num_keyframes = 0;       // of those, the ones that are shown
  // As FFmpeg found it, which decodes some frames for that.
  std::shared_ptr<const AVCodecParameters> coding = nullptr;

  [[nodiscard]] std::int64_t num_frames() const { return static_cast<std::int64_t>(pts.size()); }
  [[nodiscard]] double seconds(std::int64_t ordinal) const {
    return static_cast<double>(pts[static_cast<std::size_t>(ordinal)]) * time_base;
  }
  // Frames per second over the whole file; 0 for a single frame.
  [[nodiscard]] double average_rate() const;
  // The frame whose time is nearest to `time_s`.
  [[nodiscard]] std::int64_t ordinal_at(double time_s) const;
  // The latest keyframe from which the frame can be decoded, by its PTS.
  // Errors: DataError when the file does not start with a keyframe.
  [[nodiscard]] std::int64_t keyframe_before(std::int64_t ordinal) const;
  [[nodiscard]] std::size_t bytes() const {
    return (pts.capacity() + keyframes.capacity()) * sizeof(std::int64_t) + sizeof(*this);
  }
};

// kPackets reads every packet of any container. The two agree: it is there for containers without
// an index, and for tests.
enum class IndexSource { kContainer, kPackets };

// Errors: DataError naming the file and what is wrong with it (missing, no moov, cut off in the
// middle, no video stream, frames without times or with equal times).
VideoIndex read_video_index(const std::filesystem::path& path,
                            IndexSource source = IndexSource::kContainer);

}  // namespace wam
