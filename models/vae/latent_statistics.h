#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace wam {

// Mean and standard deviation of each latent channel.
struct LatentStatistics {
  std::vector<double> mean;
  std::vector<double> std;
};

// Over batch, frames and positions of mu, in double. A channel that never varies gets std 1.
LatentStatistics latent_statistics(const at::Tensor& mu_BCFYX);

// Clips of coloured discs that glide over shaded backgrounds: what the measured statistics of a VAE
// with random weights rest on. (count, 3, frames, size, size) float32 in [-1, 1] on the CPU; always
// the same ones.
at::Tensor moving_shapes(std::int64_t count, std::int64_t frames, std::int64_t size);

}  // namespace wam
