#include "core/ops/picture/resize_axis.h"

#include <algorithm>
#include <cmath>

#include "core/base/errors.h"
#include "core/ops/picture/picture_job.h"

namespace wam {
namespace {

struct Taps {
  std::int64_t first = 0;
  std::vector<float> weight;
};

// Where the original mixes float32 and float64, so does this.
Taps taps_of(std::int64_t index, std::int64_t in, float scale) {
  const float support = std::max(scale, 1.0F);
  const float inverse = scale >= 1.0F ? static_cast<float>(1.0 / static_cast<double>(scale)) : 1.0F;
  const auto centre =
      static_cast<float>(static_cast<double>(scale) * (static_cast<double>(index) + 0.5));
  const auto edge = [](float at) {
    return static_cast<std::int64_t>(static_cast<double>(at) + 0.5);
  };
  Taps taps;
  taps.first = std::max<std::int64_t>(edge(centre - support), 0);
  const std::int64_t end = std::min(edge(centre + support), in);
  float total = 0;
  for (std::int64_t x = taps.first; x < end; ++x) {
    const double offset = static_cast<double>(static_cast<float>(x) - centre) + 0.5;
    const auto distance = static_cast<float>(offset * static_cast<double>(inverse));
    taps.weight.push_back(std::max(0.0F, 1.0F - std::abs(distance)));
    total += taps.weight.back();
  }
  for (auto& weight : taps.weight) weight /= total;
  return taps;
}

}  // namespace

ResizeAxis resize_axis(std::int64_t in, std::int64_t out) {
  invariant(in > 0 && out > 0, "a resize from or to nothing");
  const float scale = static_cast<float>(in) / static_cast<float>(out);
  std::vector<Taps> all;
  ResizeAxis axis{in, out, 0, padded_columns(out), {}, {}};
  for (std::int64_t i = 0; i < out; ++i) {
    all.push_back(taps_of(i, in, scale));
    axis.taps = std::max(axis.taps, static_cast<std::int64_t>(all.back().weight.size()));
  }
  axis.weight.assign(static_cast<std::size_t>(axis.taps * axis.stride), 0.0F);
  for (std::int64_t i = 0; i < out; ++i) {
    const Taps& taps = all[static_cast<std::size_t>(i)];
    const std::int64_t first = std::min(taps.first, in - axis.taps);
    axis.first.push_back(static_cast<std::int32_t>(first));
    for (std::size_t k = 0; k < taps.weight.size(); ++k) {
      const auto tap = taps.first - first + static_cast<std::int64_t>(k);
      axis.weight[static_cast<std::size_t>(tap * axis.stride + i)] = taps.weight[k];
    }
  }
  axis.first.resize(static_cast<std::size_t>(axis.stride), axis.first.back());
  return axis;
}

}  // namespace wam
