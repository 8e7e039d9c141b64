#include "apps/wamtrain/bench/decode_bench.h"

#include <algorithm>
#include <memory>

#include "apps/wamtrain/bench/timing.h"
#include "data/video/plain_decoder.h"
#include "data/video/video_decoder.h"

namespace wam {
namespace {

constexpr std::uint64_t kWindows = 4;

// The frames of one camera in one window, with both decoders open.
struct Stretch {
  explicit Stretch(const VideoFrames& frames)
      : ordinals(frames.ordinals),
        index(std::make_shared<const VideoIndex>(read_video_index(frames.path))),
        decoder(index),
        ffmpeg(frames.path) {}
  void read() { static_cast<void>(decoder.read_rgb(ordinals)); }
  void read_by_ffmpeg() {
    const auto [first, last] = std::minmax_element(ordinals.begin(), ordinals.end());
    ffmpeg.decode(index->keyframe_before(*first), index->pts[static_cast<std::size_t>(*last)]);
  }

  std::vector<std::int64_t> ordinals;
  std::shared_ptr<const VideoIndex> index;
  VideoDecoder decoder;
  PlainDecoder ffmpeg;
};

// Windows spread over the training split, all cameras of each.
std::vector<std::unique_ptr<Stretch>> stretches(const WindowDataset& data) {
  std::vector<std::unique_ptr<Stretch>> out;
  for (std::uint64_t i = 0; i < kWindows; ++i) {
    const std::uint64_t window = data.size() * i / kWindows;
    const auto member = static_cast<std::size_t>(data.identify(window).dataset);
    for (const auto& frames : data.videos(member, data.draw(window, i, Transforms::kEvaluation))) {
      out.push_back(std::make_unique<Stretch>(frames));
    }
  }
  return out;
}

}  // namespace

void add_decoding(const BenchContext& context, const WindowDataset& data, BenchResult& out) {
  const auto all = stretches(data);
  if (all.empty()) return;
  context.log.info("timing the decoding of a sample's frames");
  double ours_s = 0;
  double ffmpeg_s = 0;
  for (const auto& one : all) {  // side by side, so that both see the same clock of the processor
    ours_s += time_calls(c10::kCPU, context.options.steps, [&] { one->read(); }).median_s;
    ffmpeg_s +=
        time_calls(c10::kCPU, context.options.steps, [&] { one->read_by_ffmpeg(); }).median_s;
  }
  const double to_ms = 1e3 / kWindows;
  out.figures.push_back(
      {"decode_ms", "frames of a sample, one thread, RGB", to_ms * ours_s, "ms", {}});
  out.figures.push_back(
      {"ffmpeg_ms", "FFmpeg alone, from keyframe to last frame", to_ms * ffmpeg_s, "ms", {}});
  out.figures.push_back(
      {"decode_ratio", "the first by the second", ours_s / ffmpeg_s, "times", {}});
}

}  // namespace wam
