#pragma once

#include <utility>

#include "models/wam/config.h"
#include "models/wam/frozen_encoders.h"

namespace wam::test {

// Pooled pictures: of the right shapes, and dependent on every frame.
class PooledEncoders final : public FrozenEncoders {
 public:
  explicit PooledEncoders(WamConfig config) : config_(std::move(config)) {}

  at::Tensor encode_video(const at::Tensor& video_BCTHW) override;
  at::Tensor clip_features(const at::Tensor& first_frame_BCHW) override;

  int videos = 0;   // encoded so far
  at::Tensor seen;  // the last one

 private:
  WamConfig config_;
};

}  // namespace wam::test
