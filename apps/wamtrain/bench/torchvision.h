#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/ops/picture/raw_clip.h"

namespace wam {

// What scripts/time_torchvision.py made of the same clips.
struct TorchvisionTimes {
  std::vector<double> seconds;   // for each clip: median, one thread
  std::string by;                // "torchvision 0.26.0 on torch 2.11.0, AVX512"
  std::int64_t worst_level = 0;  // largest difference from `images`
  double share = 0;              // of the values that differ
};

// Lets `script` transform the clips, which share a plan, by the Python of WAM_PYTHON (else
// python3). `images` are ours, and are compared. Errors: ConfigError when there is no script or it
// fails.
TorchvisionTimes time_torchvision(const std::filesystem::path& script,
                                  const std::vector<RawClip>& clips,
                                  const std::vector<at::Tensor>& images,
                                  std::int64_t repeats);

}  // namespace wam
