#include "data/transform/view_transform.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "core/base/errors.h"
#include "data/transform/row_ops.h"

namespace wam {
namespace {

std::int64_t scaled(std::int64_t size, double scale) {
  return static_cast<std::int64_t>(static_cast<double>(size) * scale);
}

// (in - crop) / 2, a half rounded to even.
std::int64_t centre_offset(std::int64_t in, std::int64_t crop) {
  const std::int64_t room = in - crop;
  const std::int64_t half = room / 2;
  return room % 2 == 0 ? half : half + half % 2;
}

float factor_of(float uniform, double centre, double strength) {
  return static_cast<float>(centre - strength + 2 * strength * static_cast<double>(uniform));
}

void apply_op(JitterOp op, float factor, float mean, const PlanarRow& row) {
  switch (op) {
    case JitterOp::kBrightness:
      return brighten_row(row, factor);
    case JitterOp::kContrast:
      return contrast_row(row, factor, mean);
    case JitterOp::kSaturation:
      return saturate_row(row, factor);
    case JitterOp::kHue:
      return turn_hue_row(row, factor);
  }
}

void apply_ops(std::span<const JitterOp> ops,
               const ViewDraws& draws,
               float mean,
               const PlanarRow& row) {
  for (const JitterOp op : ops) {
    apply_op(op, draws.factor[static_cast<std::size_t>(op)], mean, row);
  }
}

void write_row(const PlanarRow& row, const ViewTransform::Target& target, std::int64_t y) {
  std::uint8_t* out = target.rgb + y * target.repeat_rows * target.row_bytes;
  pack_row(row, target.repeat_cols, out);
  for (std::int64_t k = 1; k < target.repeat_rows; ++k) {
    std::memcpy(out + k * target.row_bytes, out,
                static_cast<std::size_t>(3 * row.width * target.repeat_cols));
  }
}

}  // namespace

std::int64_t ViewGeometry::crop_height() const {
  return scaled(in_height, crop_scale);
}
std::int64_t ViewGeometry::crop_width() const {
  return scaled(in_width, crop_scale);
}

ViewDraws draw_view(const ViewGeometry& geometry,
                    const JitterStrength& strength,
                    const CounterStream& stream) {
  const auto offset = [&](std::int64_t room, std::uint64_t draw) {
    return static_cast<std::int64_t>(stream.below(static_cast<std::uint64_t>(room) + 1, draw));
  };
  ViewDraws draws;
  draws.crop_top = offset(geometry.in_height - geometry.crop_height(), 0);
  draws.crop_left = offset(geometry.in_width - geometry.crop_width(), 1);
  std::array<int, 4> order = {0, 1, 2, 3};
  for (std::uint64_t last = 3; last >= 1; --last) {
    std::swap(order[last], order[stream.below(last + 1, 5 - last)]);
  }
  const std::array<double, 4> strengths = {strength.brightness, strength.contrast,
                                           strength.saturation, strength.hue};
  for (std::size_t op = 0; op < 4; ++op) {
    const double centre = op == static_cast<std::size_t>(JitterOp::kHue) ? 0 : 1;
    draws.factor[op] = factor_of(stream.uniform(10 + op), centre, strengths[op]);
  }
  for (const int op : order) {
    if (strengths[static_cast<std::size_t>(op)] > 0)
      draws.order.push_back(static_cast<JitterOp>(op));
  }
  return draws;
}

ViewDraws centre_view(const ViewGeometry& geometry) {
  ViewDraws draws;
  draws.crop_top = centre_offset(geometry.in_height, geometry.crop_height());
  draws.crop_left = centre_offset(geometry.in_width, geometry.crop_width());
  return draws;
}

// Working memory of one picture.
struct ViewTransform::Planes {
  float* unpacked;  // (3, crop width): one row
  float* narrow;    // (3, crop height, out width): columns resized
  float* resized;   // (3, out height, out width)
};

ViewTransform::ViewTransform(const ViewGeometry& geometry)
    : geometry_(geometry),
      rows_(resize_axis(geometry.crop_height(), geometry.out_height)),
      cols_(resize_axis(geometry.crop_width(), geometry.out_width)) {}

void ViewTransform::apply(const std::uint8_t* rgb,
                          const ViewDraws& draws,
                          const Target& target,
                          Scratch& scratch) const {
  invariant(draws.crop_top >= 0 && draws.crop_top + rows_.in <= geometry_.in_height &&
                draws.crop_left >= 0 && draws.crop_left + cols_.in <= geometry_.in_width,
            "a crop outside the picture");
  const std::int64_t unpacked = 3 * cols_.in;
  const std::int64_t narrow = 3 * rows_.in * cols_.out;
  scratch.resize(static_cast<std::size_t>(unpacked + narrow + 3 * rows_.out * cols_.out));
  Planes planes{scratch.data(), scratch.data() + unpacked, scratch.data() + unpacked + narrow};
  shrink_columns(rgb, draws, planes);
  finish_rows(draws, target, planes);
}

// The crop's rows, each brought to the output's width.
void ViewTransform::shrink_columns(const std::uint8_t* rgb,
                                   const ViewDraws& draws,
                                   Planes& planes) const {
  const PlanarRow row{planes.unpacked, planes.unpacked + cols_.in, planes.unpacked + 2 * cols_.in,
                      cols_.in};
  for (std::int64_t y = 0; y < rows_.in; ++y) {
    unpack_row(rgb + 3 * ((draws.crop_top + y) * geometry_.in_width + draws.crop_left), row);
    for (std::int64_t c = 0; c < 3; ++c) {
      resize_row(planes.unpacked + c * cols_.in, cols_,
                 planes.narrow + (c * rows_.in + y) * cols_.out);
    }
  }
}

// Rows of the output. Contrast needs the mean of the whole picture after the operations before it,
// so the picture is passed over twice when contrast is among them.
void ViewTransform::finish_rows(const ViewDraws& draws,
                                const Target& target,
                                Planes& planes) const {
  const std::span<const JitterOp> ops(draws.order);
  const auto contrast = std::find(ops.begin(), ops.end(), JitterOp::kContrast);
  const auto before = ops.first(static_cast<std::size_t>(contrast - ops.begin()));
  const bool two_passes = contrast != ops.end();
  const auto row_at = [&](std::int64_t y) {
    float* start = planes.resized + y * cols_.out;
    const std::int64_t plane = rows_.out * cols_.out;
    return PlanarRow{start, start + plane, start + 2 * plane, cols_.out};
  };
  std::vector<float> weights(static_cast<std::size_t>(rows_.taps));
  double luma = 0;
  for (std::int64_t y = 0; y < rows_.out; ++y) {
    const PlanarRow row = row_at(y);
    for (std::size_t tap = 0; tap < weights.size(); ++tap) {
      weights[tap] =
          rows_.weight[tap * static_cast<std::size_t>(rows_.out) + static_cast<std::size_t>(y)];
    }
    const std::int64_t first = rows_.first[static_cast<std::size_t>(y)];
    float* const channel[3] = {row.red, row.green, row.blue};
    for (std::int64_t c = 0; c < 3; ++c) {
      blend_rows(planes.narrow + (c * rows_.in + first) * cols_.out, cols_.out, weights.data(),
                 rows_.taps, channel[c], cols_.out);
    }
    apply_ops(before, draws, 0, row);
    if (two_passes)
      luma += luma_sum(row);
    else
      write_row(row, target, y);
  }
  if (!two_passes) return;
  const auto mean = static_cast<float>(luma / static_cast<double>(rows_.out * cols_.out));
  for (std::int64_t y = 0; y < rows_.out; ++y) {
    const PlanarRow row = row_at(y);
    apply_ops(ops.subspan(before.size()), draws, mean, row);
    write_row(row, target, y);
  }
}

}  // namespace wam
