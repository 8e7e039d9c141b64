#include "data/lerobot/shown_frame.h"

#include <cmath>

#include "core/base/errors.h"

namespace wam {
namespace {

// How far from a row's time its frame may be shown, in frames. A little above the half, for times
// that are stored in single precision.
constexpr double kMaxFrameError = 0.501;

}  // namespace

std::int64_t frame_shown_at(
    const VideoIndex& video, const VideoSpan& span, std::int64_t row, double time_s, double fps) {
  const double wanted_s = span.from_s + time_s;
  const std::int64_t ordinal = video.ordinal_at(wanted_s);
  const double rate = video.average_rate() > 0 ? video.average_rate() : fps;
  require<DataError>(
      std::abs(video.seconds(ordinal) - wanted_s) <= kMaxFrameError / rate,
      "frame {} should be shown at {:.3f} s of the video {}, whose nearest frame is shown at "
      "{:.3f} s (it has {} frames, {:.3f} to {:.3f} s at {:.3f} frames/s; the episodes in it have "
      "{} rows). Fix: restore the file from the dataset's source, or encode it with a frame a row.",
      row, wanted_s, video.path.string(), video.seconds(ordinal), video.num_frames(),
      video.seconds(0), video.seconds(video.num_frames() - 1), rate, span.file_frames);
  return ordinal;
}

}  // namespace wam
