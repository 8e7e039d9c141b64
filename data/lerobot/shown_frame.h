#pragma once

#include <cstdint>

#include "data/lerobot/layout.h"
#include "data/video/video_index.h"

namespace wam {

// The frame of a video nearest to a row's time, for streams that do not have a frame a row. `span`:
// where the row's episode lies in the video. Errors: DataError when it is more than half a frame
// away.
std::int64_t frame_shown_at(
    const VideoIndex& video, const VideoSpan& span, std::int64_t row, double time_s, double fps);

}  // namespace wam
