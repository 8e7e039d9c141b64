#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace wam {

// What a causal 3 x 3 x 3 convolution over a video sees at each position, as rows of a matrix: with
// few channels a matrix product takes a fraction of the convolution's time.
//
// Shape:  video (B, 3, T, H, W); rows (B * (T - first_frame) * H/pixel * W/pixel, K) in the order
// of
//         frames, rows, columns. A row holds 27 taps of 3 * pixel^2 channels (taps by frame, row,
//         column; of pixel = 2, channel c*4 + r*2 + q is colour c at column parity r, row parity
//         q), a one for the bias, and zeros up to K, a multiple of 8. Frames before 0 and positions
//         outside are zeros.
// Kernel: bf16 and fp32 on a GPU; writes K elements a position and reads little.
// Stream: ordered on the current one.
struct VideoPatches {
  std::int64_t pixel = 1;        // 1 or 2: the side of the squares that become one position
  std::int64_t first_frame = 0;  // those before it are only seen

  [[nodiscard]] std::int64_t channels() const { return 3 * pixel * pixel; }
  [[nodiscard]] std::int64_t used_width() const { return 27 * channels() + 1; }
  [[nodiscard]] std::int64_t width() const { return (used_width() + 7) / 8 * 8; }
};

at::Tensor video_patches(const at::Tensor& video_BCTHW, const VideoPatches& options);

// The weight (O, C, 3, 3, 3) and bias (O) that go with the rows: (O, K).
at::Tensor video_patches_weight(const at::Tensor& weight,
                                const at::Tensor& bias,
                                const VideoPatches& options);

}  // namespace wam
