#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

#include <ATen/core/Tensor.h>

#include "data/video/video_index.h"

namespace wam {

// Many video files, of which the latest used stay open: an index per file (shared) and decoders
// that nobody uses at the moment.
//
// Threads: any; a call decodes on the calling thread, with a decoder of its own.
// Errors:  DataError of the index and of the decoder.
class VideoStore {
 public:
  struct Options {
    std::size_t max_decoders;  // that stay open, with those in use
    std::size_t index_bytes;
  };
  explicit VideoStore(const Options& options);
  ~VideoStore();
  VideoStore(const VideoStore&) = delete;
  VideoStore& operator=(const VideoStore&) = delete;
  VideoStore(VideoStore&&) = delete;
  VideoStore& operator=(VideoStore&&) = delete;

  [[nodiscard]] std::shared_ptr<const VideoIndex> index(const std::filesystem::path& path) const;
  // (T, H, W, 3) uint8 RGB (VideoDecoder::read_rgb).
  [[nodiscard]] at::Tensor read_rgb(const std::filesystem::path& path,
                                    std::span<const std::int64_t> ordinals) const;
  [[nodiscard]] std::size_t num_idle_decoders() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace wam
