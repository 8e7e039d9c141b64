#include "models/vae/latent_statistics.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <ATen/ops/empty.h>
#include <ATen/ops/var_mean.h>

#include "core/random/counter.h"

namespace wam {
namespace {

constexpr std::size_t kDiscs = 6;
constexpr std::uint64_t kDrawsPerClip = 64;
constexpr std::uint64_t kOrdinal = 0x6d6f76696e67;  // "moving"

struct Disc {
  double row, column, row_speed, column_speed, radius;
  std::array<double, 3> color;
};

struct Scene {
  std::array<double, 3> background;
  std::array<double, 2> shade;
  std::array<Disc, kDiscs> discs;
};

Scene draw_scene(const CounterStream& stream, std::uint64_t clip, double size, double frames) {
  std::uint64_t next = clip * kDrawsPerClip;
  const auto between = [&](double low, double high) {
    return low + (high - low) * static_cast<double>(stream.uniform(next++));
  };
  Scene scene{};
  for (double& channel : scene.background) channel = between(-1, 1);
  for (double& slope : scene.shade) slope = between(-0.5, 0.5);
  for (Disc& disc : scene.discs) {
    disc.row = between(0, size);
    disc.column = between(0, size);
    disc.row_speed = between(-0.3, 0.3) * size / frames;
    disc.column_speed = between(-0.3, 0.3) * size / frames;
    disc.radius = between(0.04, 0.2) * size;
    for (double& channel : disc.color) channel = between(-1, 1);
  }
  return scene;
}

std::array<double, 3> color_at(
    const Scene& scene, double frame, double row, double column, double size) {
  std::array<double, 3> out = scene.background;
  const double shade = scene.shade[0] * (row / size - 0.5) + scene.shade[1] * (column / size - 0.5);
  for (double& channel : out) channel += shade;
  for (const Disc& disc : scene.discs) {
    const double y = row - (disc.row + disc.row_speed * frame);
    const double x = column - (disc.column + disc.column_speed * frame);
    // The edge is one pixel wide.
    const double cover = std::clamp(disc.radius - std::sqrt(x * x + y * y) + 0.5, 0.0, 1.0);
    for (std::size_t c = 0; c < 3; ++c) out[c] += cover * (disc.color[c] - out[c]);
  }
  return out;
}

}  // namespace

LatentStatistics latent_statistics(const at::Tensor& mu_BCFYX) {
  const at::Tensor flat = mu_BCFYX.to(at::kCPU, at::kDouble).transpose(0, 1).flatten(1);
  const auto [variance, mean] = at::var_mean(flat, /*dim=*/1, /*unbiased=*/false);
  LatentStatistics out;
  for (std::int64_t c = 0; c < flat.size(0); ++c) {
    const double std = std::sqrt(variance.const_data_ptr<double>()[c]);
    out.mean.push_back(mean.const_data_ptr<double>()[c]);
    out.std.push_back(std > 1e-6 ? std : 1.0);
  }
  return out;
}

at::Tensor moving_shapes(std::int64_t count, std::int64_t frames, std::int64_t size) {
  at::Tensor out_BCTHW = at::empty({count, 3, frames, size, size}, at::kFloat);
  auto* values = out_BCTHW.mutable_data_ptr<float>();
  const std::int64_t plane = size * size;
  const auto extent = static_cast<double>(size);
  const CounterStream stream(0, Purpose::kFrozenWeights, kOrdinal);
  for (std::int64_t b = 0; b < count; ++b) {
    const Scene scene =
        draw_scene(stream, static_cast<std::uint64_t>(b), extent, static_cast<double>(frames));
    for (std::int64_t i = 0; i < frames * plane; ++i) {
      const std::int64_t pixel = i % plane;
      const auto color =
          color_at(scene, static_cast<double>(i / plane), static_cast<double>(pixel / size),
                   static_cast<double>(pixel % size), extent);
      for (std::int64_t c = 0; c < 3; ++c) {
        values[(b * 3 + c) * frames * plane + i] =
            static_cast<float>(std::clamp(color[static_cast<std::size_t>(c)], -1.0, 1.0));
      }
    }
  }
  return out_BCTHW;
}

}  // namespace wam
