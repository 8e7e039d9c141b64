#pragma once

#include <cstdint>

#include "core/cuda/kernel.h"

namespace wam {

struct VideoPatchesTask {
  Element element = Element::kBf16;
  const void* video = nullptr;  // (clips, 3, frames, rows, columns), dense
  void* out = nullptr;          // (clips * (frames - first_frame) * positions, width), dense
  std::int64_t clips = 0;
  int frames = 0;
  int first_frame = 0;
  int rows = 0;     // of pixels, a multiple of `pixel`
  int columns = 0;  // the same
  int pixel = 1;    // 1 or 2
  int width = 0;    // VideoPatches::width()
};

// See video_patches.h. `out` is a multiple of 16 bytes; no positions are no work.
// Stream: ordered on `stream`, does not wait.
void video_patches_launch(const VideoPatchesTask& task, KernelStream stream);

}  // namespace wam
