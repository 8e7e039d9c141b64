#include "data/check/clocks.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/core.h>

#include "core/base/format.h"
#include "data/video/video_index.h"

namespace wam {
namespace {

constexpr double kRateTolerance = 0.01;   // of a rate
constexpr double kGap = 1.5;              // usual steps from which on a step is a gap
constexpr double kMaxFrameError = 0.501;  // frames, as the reader has it

constexpr const char* kMendInfo = "correct fps in meta/info.json";
constexpr const char* kEncode = "encode the video again with one frame a row";

struct Steps {
  double usual = 0;                // the median; 0 for fewer than two times
  std::vector<std::int64_t> gaps;  // frames before which there is one
  double lost_s = 0;               // in them, beyond the usual step
};

Steps steps_of(const std::vector<double>& time_s) {
  Steps out;
  std::vector<double> steps;
  for (std::size_t i = 1; i < time_s.size(); ++i) steps.push_back(time_s[i] - time_s[i - 1]);
  if (steps.empty()) return out;
  auto sorted = steps;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  out.usual = *middle;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i] <= kGap * out.usual) continue;
    out.gaps.push_back(static_cast<std::int64_t>(i) + 1);
    out.lost_s += steps[i] - out.usual;
  }
  return out;
}

bool differs(double rate, double expected) {
  return std::abs(rate - expected) > kRateTolerance * expected;
}

bool has_frame_a_row(const EpisodeVideo& video) {
  return video.index->num_frames() == video.span.file_frames;
}

// Times of the frames of a video that are this episode's, from its first; of a video that does not
// have a frame a row: of the whole file.
std::vector<double> frame_times(const EpisodeVideo& video, std::int64_t length) {
  const bool is_part = has_frame_a_row(video);
  const std::int64_t first = is_part ? video.span.first_frame : 0;
  const std::int64_t end = is_part ? first + length : video.index->num_frames();
  std::vector<double> out;
  for (std::int64_t i = first; i < end; ++i) out.push_back(video.index->seconds(i));
  return out;
}

class ClockCheck {
 public:
  explicit ClockCheck(const EpisodeClocks& episode) : episode_(episode) {}

  std::vector<Fault> run() {
    check_row_order();
    for (const auto& camera : episode_.videos) check_video(camera);
    if (is_ordered_) check_rows();
    return std::move(faults_);
  }

 private:
  void add(FaultKind kind,
           const std::string& file,
           std::optional<std::int64_t> frame,
           std::string message,
           std::string fix,
           Effect effect = Effect::kNone) {
    faults_.push_back({kind, effect, file, {}, frame, std::move(message), std::move(fix)});
  }

  // Frame numbers and times that go back, or are none.
  void check_row_order() {
    const auto& time = episode_.rows.time_s;
    for (std::size_t i = 0; i < time.size() && is_ordered_; ++i) {
      if (std::isfinite(time[i]) && (i == 0 || time[i] > time[i - 1])) continue;
      is_ordered_ = false;
      add(FaultKind::kRowOrder, episode_.table, static_cast<std::int64_t>(i),
          fmt::format("`timestamp` is {:.6g} s after {:.6g} s", time[i], i > 0 ? time[i - 1] : 0.0),
          "write the table again, rows in the order of time");
    }
    const auto& frame = episode_.rows.frame_index;
    for (std::size_t i = 1; i < frame.size(); ++i) {
      if (frame[i] > frame[i - 1]) continue;
      add(FaultKind::kRowOrder, episode_.table, static_cast<std::int64_t>(i),
          fmt::format("`frame_index` is {} after {}", frame[i], frame[i - 1]),
          "write the table again, rows in the order of time");
      return;
    }
    for (std::size_t i = 1; i < frame.size(); ++i) jumps_ += frame[i] > frame[i - 1] + 1 ? 1 : 0;
  }

  void check_rows() {
    const Steps steps = steps_of(episode_.rows.time_s);
    if (steps.usual > 0 && differs(1 / steps.usual, episode_.fps)) {
      add(FaultKind::kFrameRate, episode_.table, {},
          fmt::format("rows are {:.4g} s apart, {:.4g} a second; info.json says {:.4g}",
                      steps.usual, 1 / steps.usual, episode_.fps),
          kMendInfo);
    }
    std::vector<std::int64_t> gaps;
    std::set_difference(steps.gaps.begin(), steps.gaps.end(), video_gaps_.begin(),
                        video_gaps_.end(), std::back_inserter(gaps));
    if (gaps.empty() && jumps_ == 0) return;
    add(FaultKind::kIdleFramesCut, episode_.table, gaps.empty() ? std::nullopt : first_of(gaps),
        gaps.empty()
            ? fmt::format("`frame_index` leaves numbers out in {}", counted(jumps_, "place"))
            : fmt::format("time jumps in {}, {:.3g} s in all, where the pictures go on: frames "
                          "were cut out",
                          counted(static_cast<std::int64_t>(gaps.size()), "place"), steps.lost_s),
        {});
  }

  static std::optional<std::int64_t> first_of(const std::vector<std::int64_t>& frames) {
    if (frames.empty()) return std::nullopt;
    return frames.front();
  }

  void check_video(const CameraVideo& camera) {
    const auto times = frame_times(camera.video, episode_.length);
    const Steps steps = steps_of(times);
    const bool other_rate = check_steps(camera, steps);
    if (!has_frame_a_row(camera.video)) {
      add(FaultKind::kFrameCount, camera.file, {},
          fmt::format("the video has {} frames, its episodes {} rows",
                      camera.video.index->num_frames(), camera.video.span.file_frames),
          kEncode);
      check_nearest(camera);
    } else if (is_ordered_ && !other_rate) {
      check_shift(camera, times, steps);
    }
  }

  // Rate and gaps of a video; true: its rate is not that of info.json.
  bool check_steps(const CameraVideo& camera, const Steps& steps) {
    const bool other_rate = steps.usual > 0 && differs(1 / steps.usual, episode_.fps);
    if (other_rate) {
      add(FaultKind::kFrameRate, camera.file, {},
          fmt::format("the video runs at {:.4g} frames/s, info.json says {:.4g}", 1 / steps.usual,
                      episode_.fps),
          kMendInfo);
    }
    if (!steps.gaps.empty()) {
      add(FaultKind::kFrameGap, camera.file, steps.gaps.front(),
          fmt::format("{} between frames, {:.3g} s in all: pictures are lost",
                      counted(static_cast<std::int64_t>(steps.gaps.size()), "gap"), steps.lost_s),
          "leave the episode out, or record it again");
    }
    video_gaps_.insert(video_gaps_.end(), steps.gaps.begin(), steps.gaps.end());
    std::sort(video_gaps_.begin(), video_gaps_.end());
    return other_rate;
  }

  // Every row has its frame; do their clocks agree?
  void check_shift(const CameraVideo& camera,
                   const std::vector<double>& times,
                   const Steps& frames) {
    const auto& rows = episode_.rows.time_s;
    if (rows.empty() || frames.usual <= 0) return;
    double low = 0;
    double high = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const double shift = (camera.video.span.from_s + rows[i] - times[i]) / frames.usual;
      low = i == 0 ? shift : std::min(low, shift);
      high = i == 0 ? shift : std::max(high, shift);
    }
    const double most = std::max(std::abs(low), std::abs(high));
    if (most <= kMaxFrameError) return;
    const char* harmless = "; rows and frames are matched by their number";
    if (high - low <= kMaxFrameError) {
      add(FaultKind::kDrift, camera.file, {},
          fmt::format("the start time is {:.2g} frames off{}", most, harmless), {});
      return;
    }
    const Steps steps = steps_of(rows);
    const bool is_told = !steps.gaps.empty() || !frames.gaps.empty() ||
                         (steps.usual > 0 && differs(1 / steps.usual, episode_.fps));
    if (is_told) return;
    add(FaultKind::kFrameTimes, camera.file, {},
        fmt::format("`timestamp` and the times of the frames part by up to {:.3g} s{}",
                    most * frames.usual, harmless),
        "write the column `timestamp` again");
  }

  // The frame nearest in time is taken, as the reader does.
  void check_nearest(const CameraVideo& camera) {
    const VideoIndex& index = *camera.video.index;
    const auto& rows = episode_.rows.time_s;
    if (rows.empty()) {
      add(FaultKind::kFrameTimes, camera.file, {},
          "not a frame a row, and the table has no column `timestamp`", kEncode,
          Effect::kBadSample);
      return;
    }
    const double rate = index.average_rate() > 0 ? index.average_rate() : episode_.fps;
    std::int64_t bad = 0;
    std::int64_t first = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const double wanted_s = camera.video.span.from_s + rows[i];
      const double off_s = std::abs(index.seconds(index.ordinal_at(wanted_s)) - wanted_s);
      if (off_s <= kMaxFrameError / rate) continue;
      if (bad++ == 0) first = static_cast<std::int64_t>(i);
    }
    if (bad == 0) return;
    add(FaultKind::kFrameTimes, camera.file, first,
        fmt::format("{} of {} rows have no frame within half a frame of their `timestamp`; frames "
                    "are shown from {:.3f} to {:.3f} s, the rows are of {:.3f} to {:.3f} s",
                    bad, rows.size(), index.seconds(0), index.seconds(index.num_frames() - 1),
                    camera.video.span.from_s + rows.front(),
                    camera.video.span.from_s + rows.back()),
        std::string("restore the file from the dataset's source, or ") + kEncode,
        Effect::kBadSample);
  }

  const EpisodeClocks& episode_;
  std::vector<Fault> faults_;
  std::vector<std::int64_t> video_gaps_;  // frames before which a video has one
  std::int64_t jumps_ = 0;                // of frame_index
  bool is_ordered_ = true;
};

}  // namespace

std::vector<Fault> check_clocks(const EpisodeClocks& episode) {
  return ClockCheck(episode).run();
}

}  // namespace wam
