#pragma once

#include <cstdint>

#include "data/transform/resize.h"

namespace wam {

// Inner loops of the video transform, on rows of planar float32 RGB in [0, 1]. Internal to
// data/transform. Elementwise, fused multiply-add only where written, no reassociation: the result
// does not depend on the vector unit that runs them.

struct PlanarRow {
  float* red;
  float* green;
  float* blue;
  std::int64_t width;
};

// Interleaved uint8 RGB -> planar float / 255.
void unpack_row(const std::uint8_t* rgb, const PlanarRow& out);
// out[i] = sum over taps of weight * in[first[i] + tap].
void resize_row(const float* in, const ResizeAxis& axis, float* out);
// out[x] = sum over taps of weight[tap] * rows[tap * stride + x].
void blend_rows(const float* rows,
                std::int64_t stride,
                const float* weights,
                std::int64_t taps,
                float* out,
                std::int64_t width);
// clamp(factor * p)
void brighten_row(const PlanarRow& row, float factor);
// clamp(factor * p + (1 - factor) * mean)
void contrast_row(const PlanarRow& row, float factor, float mean);
// clamp(factor * p + (1 - factor) * luma(p))
void saturate_row(const PlanarRow& row, float factor);
// Turns the hue by `shift` in [-0.5, 0.5].
void turn_hue_row(const PlanarRow& row, float shift);
// Sum of luma = 0.2989 R + 0.587 G + 0.114 B over the row, in a fixed order.
double luma_sum(const PlanarRow& row);
// Truncates 255 * p to uint8; every pixel `repeat` times.
void pack_row(const PlanarRow& row, std::int64_t repeat, std::uint8_t* rgb);

}  // namespace wam
