#pragma once

#include <cstddef>
#include <filesystem>
#include <list>
#include <mutex>

#include "data/video/container.h"

namespace wam {

// Decoder contexts that no file needs at the moment, for other files that are coded alike, as those
// of a dataset mostly are. A context is megabytes in many blocks: made anew for every file, they
// cost time and leave holes in memory.
//
// Threads: any.
class CodecShelf {
 public:
  explicit CodecShelf(std::size_t max_codecs) : max_codecs_(max_codecs) {}

  // A kept one that was opened for equal parameters, or a new one. Errors: as open_video_codec.
  OpenCodec take(const AVCodecParameters& coding,
                 AVRational time_base,
                 const std::filesystem::path& path);
  // `codec` must not have failed.
  void keep(OpenCodec codec);
  [[nodiscard]] std::size_t size() const;

 private:
  std::size_t max_codecs_;
  mutable std::mutex mutex_;
  std::list<OpenCodec> kept_;  // the latest first
};

}  // namespace wam
