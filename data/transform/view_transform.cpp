#include "data/transform/view_transform.h"

#include <memory>
#include <utility>

#include "core/base/errors.h"
#include "core/ops/picture/picture.h"

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

PictureAxis axis_of(const ResizeAxis& axis) {
  return {axis.in, axis.out, axis.taps, axis.stride, axis.first.data(), axis.weight.data()};
}

// `floats` with room to start at a cache line.
float* aligned(std::vector<float>& floats, std::int64_t size) {
  constexpr std::size_t kLine = 64;
  floats.resize(static_cast<std::size_t>(size) + kLine / sizeof(float));
  void* start = floats.data();
  std::size_t bytes = floats.size() * sizeof(float);
  return static_cast<float*>(std::align(kLine, 1, start, bytes));
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

ViewTransform::ViewTransform(const ViewGeometry& geometry, InstructionSet set)
    : geometry_(geometry),
      rows_(resize_axis(geometry.crop_height(), geometry.out_height)),
      cols_(resize_axis(geometry.crop_width(), geometry.out_width)),
      set_(set) {}

void ViewTransform::apply(const std::uint8_t* rgb,
                          const ViewDraws& draws,
                          const Target& target,
                          Scratch& scratch) const {
  invariant(draws.crop_top >= 0 && draws.crop_top + rows_.in <= geometry_.in_height &&
                draws.crop_left >= 0 && draws.crop_left + cols_.in <= geometry_.in_width,
            "a crop outside the picture");
  invariant(draws.order.size() <= kMaxJitterSteps, "a jitter that has each operation once at most");
  PictureJob job;
  job.rows = axis_of(rows_);
  job.columns = axis_of(cols_);
  for (const JitterOp op : draws.order) {
    const float factor = draws.factor[static_cast<std::size_t>(op)];
    job.step[job.steps++] = {op, factor, static_cast<float>(1.0 - static_cast<double>(factor))};
  }
  job.from = rgb + 3 * (draws.crop_top * geometry_.in_width + draws.crop_left);
  job.from_stride = 3 * geometry_.in_width;
  job.to = target.rgb;
  job.to_stride = target.row_bytes;
  job.repeat_rows = target.repeat_rows;
  job.repeat_columns = target.repeat_cols;
  job.scratch = aligned(scratch, picture_scratch(job.rows, job.columns).size);
  transform_picture(job, set_);
}

}  // namespace wam
