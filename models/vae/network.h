#pragma once

#include <ATen/core/Tensor.h>

#include "models/vae/config.h"
#include "models/vae/layers.h"

namespace wam {

// One piece of a clip, (B, 3, T, H, W) in [-1, 1], to mu before normalisation: (B, z, F, h, w). Of
// a clip with a still end: its frames up to the first still one and any more, to the latents up to
// the first still one.
at::Tensor vae_encode_chunk(const VaeConfig& config,
                            const VaeContext& vae,
                            const at::Tensor& video_BCTHW,
                            ClipMemory& memory);

// Un-normalised latents of whole clips to pixels, before the clamp to [-1, 1].
at::Tensor vae_decode_clip(const VaeConfig& config,
                           const VaeContext& vae,
                           const at::Tensor& z_BCFYX);

}  // namespace wam
