#pragma once

#include <ATen/core/Tensor.h>

#include "models/vae/config.h"
#include "models/vae/layers.h"

namespace wam {

// One chunk of a clip, (B, 3, T, H, W) in [-1, 1], to mu before normalisation: (B, z, F, h, w).
at::Tensor vae_encode_chunk(const VaeConfig& config,
                            const VaeContext& vae,
                            const at::Tensor& video_BCTHW,
                            ClipMemory& memory);

// Un-normalised latents of whole clips to pixels, before the clamp to [-1, 1].
at::Tensor vae_decode_clip(const VaeConfig& config,
                           const VaeContext& vae,
                           const at::Tensor& z_BCFYX);

}  // namespace wam
