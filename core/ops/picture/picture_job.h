#pragma once

#include <cstdint>

namespace wam {

enum class JitterOp { kBrightness, kContrast, kSaturation, kHue };

// One operation of a colour jitter. Brightness, contrast, saturation: `factor` >= 0, and
// `rest` = 1 - factor. Hue: `factor` in turns, -0.5 to 0.5.
struct JitterStep {
  JitterOp op = JitterOp::kBrightness;
  float factor = 1;
  float rest = 0;
};
constexpr std::int64_t kMaxJitterSteps = 4;

// Columns are worked on 16 at a time, whatever the vectors' width.
constexpr std::int64_t kPictureColumns = 16;

// How rows or columns are resized: output i = sum over taps of weight[tap][i] * in[first[i] + tap],
// first[i] + taps <= in. Columns have room for a multiple of kPictureColumns outputs; those past
// `out` weigh nothing.
struct PictureAxis {
  std::int64_t in = 0;
  std::int64_t out = 0;
  std::int64_t taps = 0;
  std::int64_t stride = 0;              // of weight's taps
  const std::int32_t* first = nullptr;  // ascending
  const float* weight = nullptr;
};

// One picture's way through transform_picture (picture.h).
struct PictureJob {
  PictureAxis rows;
  PictureAxis columns;
  JitterStep step[kMaxJitterSteps];
  std::int64_t steps = 0;
  const std::uint8_t* from = nullptr;  // the crop's first pixel: RGB, side by side
  std::int64_t from_stride = 0;        // bytes between rows
  std::uint8_t* to = nullptr;
  std::int64_t to_stride = 0;
  std::int64_t repeat_rows = 1;
  std::int64_t repeat_columns = 1;
  float* scratch = nullptr;  // picture_scratch(rows, columns) floats, aligned to 64 bytes
};

// Floats of working memory. Left to right: a row of the crop, `taps` rows of the output's width,
// the whole picture before contrast; each as three planes.
struct PictureScratch {
  std::int64_t row_plane = 0;     // between the colours of a row of the crop
  std::int64_t narrow_plane = 0;  // of a row of the output's width
  std::int64_t ring = 0;          // where the parts begin
  std::int64_t picture = 0;
  std::int64_t size = 0;
};
constexpr std::int64_t padded_columns(std::int64_t columns) {
  return (columns + kPictureColumns - 1) / kPictureColumns * kPictureColumns;
}
constexpr PictureScratch picture_scratch(const PictureAxis& rows, const PictureAxis& columns) {
  PictureScratch out;
  // A vector is loaded at any column that is a tap, and the one after it.
  out.row_plane = padded_columns(columns.in + 3 * kPictureColumns);
  out.narrow_plane = padded_columns(columns.out);
  out.ring = 3 * out.row_plane;
  out.picture = out.ring + 3 * out.narrow_plane * rows.taps;
  out.size = out.picture + 3 * out.narrow_plane * rows.out;
  return out;
}

// transform_picture for one set of instructions.
using PictureCode = void(const PictureJob& job);
PictureCode transform_picture_scalar;
// In a build for x86-64 only; the processor must have the instructions.
PictureCode transform_picture_avx2;
PictureCode transform_picture_avx512;

}  // namespace wam
