#include "models/wam/layout.h"

#include <cmath>

#include <ATen/ops/empty.h>

#include "core/base/errors.h"

namespace wam {
namespace {

// Writes (cos, sin) of position * 10000^(-2k/dim) for k = 0 .. dim/2 - 1; returns the place after.
double* write_axis(double* out, std::int64_t dim, std::int64_t position) {
  for (std::int64_t k = 0; k < dim / 2; ++k) {
    const double frequency =
        std::pow(10000.0, -2.0 * static_cast<double>(k) / static_cast<double>(dim));
    const double angle = static_cast<double>(position) * frequency;
    *out++ = std::cos(angle);
    *out++ = std::sin(angle);
  }
  return out;
}

double* write_frames(double* out,
                     const TokenLayout& layout,
                     std::int64_t head_width,
                     std::int64_t first,
                     std::int64_t count) {
  const std::int64_t space = head_width / 6 * 2;
  for (std::int64_t f = first; f < first + count; ++f) {
    for (std::int64_t r = 0; r < layout.patch_rows; ++r) {
      for (std::int64_t c = 0; c < layout.patch_columns; ++c) {
        out = write_axis(out, head_width - 2 * space, f);
        out = write_axis(out, space, r);
        out = write_axis(out, space, c);
      }
    }
  }
  return out;
}

}  // namespace

TokenRows time_rows_of(const TokenLayout& layout, const TokenRange& range) {
  const bool whole = range == TokenRange{0, layout.tokens()};
  invariant(whole || range == layout.results(), "no rows are defined for this token range");
  const std::int64_t per_block = layout.noisy_block(0).count;
  const std::int64_t blocks_begin = layout.noisy_block(0).begin - range.begin;
  const bool own = layout.action_time == ActionTime::kOwn;
  const std::int64_t nA = layout.actions_per_block;
  TokenRows rows;
  rows.tokens = range.count;
  if (whole) rows.groups.push_back({.inner = layout.clean().count});
  rows.groups.push_back({.begin = layout.noisy_frame0().begin - range.begin,
                         .inner = layout.frame_tokens(),
                         .row_begin = 1});
  rows.groups.push_back({.begin = blocks_begin,
                         .outer = layout.blocks,
                         .outer_stride = per_block,
                         .inner = own ? layout.block_video_tokens() : per_block,
                         .row_begin = 2,
                         .row_outer_stride = 1});
  if (nA > 0 && own) {
    rows.groups.push_back({.begin = blocks_begin + layout.block_video_tokens(),
                           .outer = layout.blocks,
                           .outer_stride = per_block,
                           .inner = nA,
                           .row_begin = 2 + layout.blocks,
                           .row_outer_stride = nA,
                           .row_inner_stride = 1});
  }
  if (nA > 0 && whole) {
    rows.groups.push_back({.begin = layout.states().begin,
                           .outer = layout.blocks,
                           .outer_stride = 1,
                           .inner = 1,
                           .row_begin = own ? 2 + layout.blocks : 2,
                           .row_outer_stride = own ? nA : 1});
  }
  return rows;
}

at::Tensor rotary_table(const TokenLayout& layout, std::int64_t head_width) {
  at::Tensor table = at::empty({layout.tokens(), head_width / 2, 2}, at::kDouble);
  auto* out = table.mutable_data_ptr<double>();
  out = write_frames(out, layout, head_width, 0, layout.frames());
  out = write_frames(out, layout, head_width, 0, 1);
  for (std::int64_t i = 0; i < layout.blocks; ++i) {
    out = write_frames(out, layout, head_width, 1 + WamConfig::kFramesPerBlock * i,
                       WamConfig::kFramesPerBlock);
    for (std::int64_t a = 0; a < layout.actions_per_block; ++a) {
      out = write_axis(out, head_width, i * layout.actions_per_block + a);
    }
  }
  for (std::int64_t i = 0; i < layout.states().count; ++i) out = write_axis(out, head_width, i);
  return table;
}

}  // namespace wam
