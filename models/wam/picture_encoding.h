#pragma once

#include <ATen/core/Tensor.h>

#include "core/train/batch.h"
#include "models/wam/config.h"
#include "models/wam/frozen_encoders.h"

namespace wam {

struct PictureEncoding {
  const WamConfig& config;
  at::ScalarType type = at::kBFloat16;  // of what comes out
  at::Device device = at::kCPU;
};

// What the transformer reads of the pictures of a batch: scaled to [-1, 1], resized to the config's
// target (bilinear, pixel centres, no antialias) and encoded. The still is there for i2v only.
EncodedPictures encode_pictures(const Batch& batch,
                                FrozenEncoders& encoders,
                                const PictureEncoding& how);

}  // namespace wam
