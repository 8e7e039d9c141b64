#include "core/ops/video_patches/video_patches_plain.h"

#include <vector>

#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/ones.h>

namespace wam {
namespace {

// (B, 3, T, H, W) -> (B, 3 p^2, T, H/p, W/p), channel c*p^2 + r*p + q = column parity r, row parity
// q.
at::Tensor squares_to_channels(const at::Tensor& video_BCTHW, std::int64_t pixel) {
  const at::Tensor squares = video_BCTHW.unflatten(3, {video_BCTHW.size(3) / pixel, pixel})
                                 .unflatten(5, {video_BCTHW.size(4) / pixel, pixel});
  // (B, C, T, Y, q, X, r) -> (B, C, r, q, T, Y, X)
  return squares.permute({0, 1, 6, 4, 2, 3, 5}).flatten(1, 3);
}

}  // namespace

at::Tensor video_patches_plain(const at::Tensor& video_BCTHW, const VideoPatches& options) {
  const at::Tensor x = squares_to_channels(video_BCTHW, options.pixel);
  const std::int64_t frames = x.size(2) - options.first_frame;
  const at::Tensor padded = at::constant_pad_nd(x, {1, 1, 1, 1, 2, 0}, 0);
  std::vector<at::Tensor> taps;
  for (std::int64_t t = 0; t < 3; ++t) {
    for (std::int64_t row = 0; row < 3; ++row) {
      for (std::int64_t column = 0; column < 3; ++column) {
        taps.push_back(padded.narrow(2, options.first_frame + t, frames)
                           .narrow(3, row, x.size(3))
                           .narrow(4, column, x.size(4)));
      }
    }
  }
  taps.push_back(at::ones({x.size(0), 1, frames, x.size(3), x.size(4)}, x.options()));
  const at::Tensor rows_RK =
      at::cat(taps, 1).permute({0, 2, 3, 4, 1}).reshape({-1, options.used_width()});
  return at::constant_pad_nd(rows_RK, {0, options.width() - options.used_width()}, 0);
}

}  // namespace wam
