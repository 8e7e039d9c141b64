#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "apps/wamtrain/recipe.h"
#include "core/base/log.h"
#include "core/train/manifest.h"
#include "models/frozen/frozen_weights.h"
#include "models/wam/frozen_encoders.h"

namespace wam {

class Umt5Encoder;

// One frozen network as the recipe asks for it: what its file must hold, where it is, and the name
// that a DreamZero folder gives its tensors.
struct FrozenPart {
  std::string component;  // "vae", "image_encoder", "text_encoder"
  std::string prefix;     // in a DreamZero folder: "action_head.vae.model."
  FrozenModel model;
  FrozenSource source;
  std::string origin;  // the path, or "random"
};

// The three of them for the recipe's preset. `vocabulary` is the tokenizer's number of pieces, used
// by the tiny presets; the real ones have their own.
FrozenPart vae_part(const ResolvedRecipe& recipe);
FrozenPart image_part(const ResolvedRecipe& recipe);
FrozenPart text_part(const ResolvedRecipe& recipe, std::int64_t vocabulary);

// Channels of the first level of the preset's VAE, as config.json wants it.
std::int64_t vae_dim(ModelPreset preset);

// VAE and CLIP tower on the device, ready for the model.
std::unique_ptr<FrozenEncoders> load_encoders(const ResolvedRecipe& recipe,
                                              const FrozenPlacement& placement,
                                              Log& log);

// The same for a run: where it takes its latents from a cache, nothing is loaded, and whoever asks
// for an encoding is at fault.
std::unique_ptr<FrozenEncoders> load_encoders_to_train(const ResolvedRecipe& recipe,
                                                       const FrozenPlacement& placement,
                                                       Log& log);

// The text encoder on the device. Training has it only while it embeds prompts.
Umt5Encoder load_text_encoder(const ResolvedRecipe& recipe,
                              std::int64_t vocabulary,
                              const FrozenPlacement& placement,
                              Log& log);

// Values a token of its embeddings. Errors: DataError when it lacks rows for the tokenizer's
// pieces.
std::int64_t text_width(const ResolvedRecipe& recipe, std::int64_t vocabulary);

}  // namespace wam
