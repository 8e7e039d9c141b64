#include "test/unit/models/wam/pooled_encoders.h"

#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/cat.h>

namespace wam::test {

at::Tensor PooledEncoders::encode_video(const at::Tensor& video_BCTHW) {
  ++videos;
  seen = video_BCTHW;
  const at::Tensor rest = video_BCTHW.narrow(2, 1, video_BCTHW.size(2) - 1)
                              .unflatten(2, {-1, 4})
                              .mean(at::IntArrayRef{3});
  const at::Tensor frames = at::cat({video_BCTHW.narrow(2, 0, 1), rest}, 2);
  const at::Tensor pooled = at::avg_pool2d(frames.transpose(1, 2).flatten(0, 1), config_.vae_stride)
                                .unflatten(0, {video_BCTHW.size(0), -1})
                                .transpose(1, 2);
  return pooled.repeat({1, (config_.latent_channels + 2) / 3, 1, 1, 1})
      .narrow(1, 0, config_.latent_channels);
}

at::Tensor PooledEncoders::clip_features(const at::Tensor& first_frame_BCHW) {
  return first_frame_BCHW.mean(at::IntArrayRef{1, 2, 3})
      .view({-1, 1, 1})
      .expand({-1, config_.clip_tokens, config_.clip_width})
      .contiguous();
}

}  // namespace wam::test
