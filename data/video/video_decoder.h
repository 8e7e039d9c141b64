#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include "data/video/video_index.h"

namespace wam {

// Decodes chosen frames of one video file, exactly, on the calling thread.
//
// Jumps to the keyframe that saves work and decodes forward from there; what a frame looks like
// does not depend on what was decoded before it. Frames are recognised by their PTS, so streams
// with B-frames or an edit list are in presentation order.
//
// T frame · H W row, column · C channel.
// Threads: one at a time per decoder. Owns a file and a decoder context (a few MB).
// Errors:  DataError naming file and frame: an ordinal past the end, a frame that does not decode
//          or that FFmpeg had to patch up.
class VideoDecoder {
 public:
  explicit VideoDecoder(std::shared_ptr<const VideoIndex> index);
  ~VideoDecoder();
  VideoDecoder(const VideoDecoder&) = delete;
  VideoDecoder& operator=(const VideoDecoder&) = delete;
  VideoDecoder(VideoDecoder&&) = delete;
  VideoDecoder& operator=(VideoDecoder&&) = delete;

  // Closes the file and opens another; an error leaves a decoder of no use. The context, megabytes
  // in many blocks, is kept for a file that is coded alike: made anew for every file, contexts cost
  // time and leave holes in memory.
  void reopen(std::shared_ptr<const VideoIndex> index);
  [[nodiscard]] bool is_coded_like(const VideoIndex& other) const;

  [[nodiscard]] const VideoIndex& index() const noexcept;
  // (T, H, W, 3) uint8 RGB; ordinals in any order, repeats allowed (picture.h: the conversion).
  [[nodiscard]] at::Tensor read_rgb(std::span<const std::int64_t> ordinals);
  // The decoder's own planes of one frame, (H, W) uint8 each: Y, U, V of an 8-bit planar video.
  [[nodiscard]] std::vector<at::Tensor> read_planes(std::int64_t ordinal);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace wam
