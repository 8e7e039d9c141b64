#pragma once

#include "apps/wamtrain/latents.h"
#include "apps/wamtrain/ranks.h"

namespace wam {

struct LatentJob {
  EncoderHashes hashes;
  FrozenPlacement placement;
  bool rebuilds = false;  // a cache of something else is removed, not refused
};

// Fills the latent caches of a recipe's datasets, every rank a part of the files. Says what there
// is to do and how large it is before anything is encoded. A stop that was asked for ends it
// between two batches; the next call goes on. All ranks call it together. Errors: ConfigError where
// a cache is of something else; those of reading (data.on_bad_sample: skip marks bad clips
// instead); DeviceError when the disk has no room.
void encode_latents(const ResolvedRecipe& recipe,
                    const std::shared_ptr<const WindowDataset>& windows,
                    const LatentJob& job,
                    Ranks& ranks,
                    Log& log);

}  // namespace wam
