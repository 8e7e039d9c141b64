#include "models/wam/picture_encoding.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/upsample_bilinear2d.h>

#include "core/ops/parameter.h"

namespace wam {
namespace {

// (B, 3, T, H, W) -> the same at another size, frame by frame.
at::Tensor resized(const at::Tensor& video_BCTHW, std::int64_t height, std::int64_t width) {
  if (video_BCTHW.size(3) == height && video_BCTHW.size(4) == width) return video_BCTHW;
  const std::int64_t batch = video_BCTHW.size(0);
  const at::Tensor frames = video_BCTHW.transpose(1, 2).flatten(0, 1);
  return at::upsample_bilinear2d(frames, {height, width}, /*align_corners=*/false)
      .unflatten(0, {batch, -1})
      .transpose(1, 2);
}

at::Tensor video_of(const Batch& batch, const PictureEncoding& how) {
  const at::Tensor image = batch.raw ? images_of(*batch.raw, how.device)
                                     : batch.image_BTHWC.to(how.device, /*non_blocking=*/true);
  at::Tensor video = image.permute({0, 4, 1, 2, 3}).to(accumulate_type(how.type));
  video.div_(255.0).sub_(0.5).div_(0.5);
  return resized(video, how.config.target_height, how.config.target_width).to(how.type);
}

}  // namespace

EncodedPictures encode_pictures(const Batch& batch,
                                FrozenEncoders& encoders,
                                const PictureEncoding& how) {
  const at::NoGradGuard no_grad;
  const at::Tensor video_BCTHW = video_of(batch, how);
  const at::Tensor first_BCHW = video_BCTHW.select(2, 0);
  EncodedPictures out;
  out.latent_BCFYX = encoders.encode_video(video_BCTHW).to(how.type);
  if (how.config.type == ModelType::kI2v) {
    out.still_BCFYX = encoders.encode_first_frame(first_BCHW, video_BCTHW.size(2)).to(how.type);
  }
  out.image_BMD = encoders.clip_features(first_BCHW).to(how.type);
  return out;
}

}  // namespace wam
