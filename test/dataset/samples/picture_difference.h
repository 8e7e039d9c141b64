#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "test/dataset/samples/golden_set.h"

namespace wam::test {

// Largest differences between a clip (T, H, W, 3) and the parts of it that a set stores, in levels.
struct PictureDifference {
  double block16 = 0;
  double block32 = 0;
  double frame_mean = 0;
  int pixel = 0;
  double share = 0;  // of the pixel values that differ, in the pictures stored whole
};
PictureDifference picture_difference(const GoldenSet& set,
                                     const nlohmann::json& sample,
                                     const at::Tensor& clip_THWC);

}  // namespace wam::test
