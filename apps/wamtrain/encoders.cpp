#include "apps/wamtrain/encoders.h"

#include "apps/wamtrain/latents.h"
#include "core/base/errors.h"
#include "core/base/format.h"
#include "models/text/umt5.h"
#include "models/vae/wan_vae.h"
#include "models/vision/clip_tower.h"

namespace wam {
namespace {

bool is_tiny(ModelPreset preset) {
  return preset == ModelPreset::kTiny5b || preset == ModelPreset::kTiny14b;
}

VaeConfig vae_config(ModelPreset preset) {
  switch (preset) {
    case ModelPreset::k5b:
      return VaeConfig::wan22();
    case ModelPreset::k14b:
      return VaeConfig::wan21();
    case ModelPreset::kTiny5b:
      return VaeConfig::tiny_wan22();
    case ModelPreset::kTiny14b:
      return VaeConfig::tiny_wan21();
  }
  throw InvariantError("a preset without a VAE");
}

ClipConfig clip_config(ModelPreset preset) {
  return is_tiny(preset) ? ClipConfig::tiny() : ClipConfig::vit_h();
}

Umt5Config text_config(ModelPreset preset, std::int64_t vocabulary) {
  return is_tiny(preset) ? Umt5Config::tiny(vocabulary) : Umt5Config::xxl();
}

// `given` is the component's value in the recipe; empty means that model.init brings it.
FrozenPart part(const ResolvedRecipe& recipe,
                const std::string& component,
                const std::string& given,
                const std::string& prefix,
                FrozenModel model) {
  FrozenPart out;
  out.component = component;
  out.prefix = prefix;
  out.model = std::move(model);
  if (given == "random") {
    out.source.seed = recipe.options.run.seed;
    out.origin = "random";
  } else if (given.empty()) {
    out.source.path = recipe.options.model.init;
    out.source.prefix = prefix;
    out.origin = out.source.path.string();
  } else {
    out.source.path = given;
    out.origin = given;
  }
  return out;
}

class Encoders : public FrozenEncoders {
 public:
  Encoders(WanVae vae, ClipTower clip) : vae_(std::move(vae)), clip_(std::move(clip)) {}
  at::Tensor encode_video(const at::Tensor& video_BCTHW) override {
    return vae_.encode(video_BCTHW);
  }
  at::Tensor encode_first_frame(const at::Tensor& image_BCHW, std::int64_t frames) override {
    return vae_.encode_first_frame(image_BCHW, frames);
  }
  at::Tensor clip_features(const at::Tensor& first_frame_BCHW) override {
    return clip_.features(first_frame_BCHW);
  }

 private:
  WanVae vae_;
  ClipTower clip_;
};

// All batches come encoded.
class NoEncoders : public FrozenEncoders {
 public:
  at::Tensor encode_video(const at::Tensor& /*video*/) override { refuse(); }
  at::Tensor clip_features(const at::Tensor& /*first_frame*/) override { refuse(); }

 private:
  [[noreturn]] static void refuse() {
    throw InvariantError("pictures to encode in a run with cached latents");
  }
};

void say_loading(const FrozenPart& part, Log& log) {
  log.info(fmt::format("{}: {} parameters from {}", part.model.what,
                       with_commas(part.model.needed_numel()), part.origin));
}

}  // namespace

FrozenPart vae_part(const ResolvedRecipe& recipe) {
  return part(recipe, "vae", recipe.options.model.components.vae, "action_head.vae.model.",
              vae_tensors(vae_config(recipe.options.model.preset), VaeParts::kEncoder));
}

std::int64_t vae_dim(ModelPreset preset) {
  return vae_config(preset).dim;
}

FrozenPart image_part(const ResolvedRecipe& recipe) {
  return part(recipe, "image_encoder", recipe.options.model.components.image_encoder,
              "action_head.image_encoder.model.",
              clip_tensors(clip_config(recipe.options.model.preset)));
}

FrozenPart text_part(const ResolvedRecipe& recipe, std::int64_t vocabulary) {
  return part(recipe, "text_encoder", recipe.options.model.components.text_encoder,
              "action_head.text_encoder.",
              umt5_tensors(text_config(recipe.options.model.preset, vocabulary)));
}

std::unique_ptr<FrozenEncoders> load_encoders(const ResolvedRecipe& recipe,
                                              const FrozenPlacement& placement,
                                              Log& log) {
  const ModelPreset preset = recipe.options.model.preset;
  const FrozenPart vae = vae_part(recipe);
  say_loading(vae, log);
  WanVae video(vae_config(preset), load_frozen(vae.model, vae.source, placement));
  const FrozenPart image = image_part(recipe);
  say_loading(image, log);
  ClipTower clip(clip_config(preset), load_frozen(image.model, image.source, placement));
  return std::make_unique<Encoders>(std::move(video), std::move(clip));
}

std::unique_ptr<FrozenEncoders> load_encoders_to_train(const ResolvedRecipe& recipe,
                                                       const FrozenPlacement& placement,
                                                       Log& log) {
  if (caches_latents(recipe)) return std::make_unique<NoEncoders>();
  return load_encoders(recipe, placement, log);
}

Umt5Encoder load_text_encoder(const ResolvedRecipe& recipe,
                              std::int64_t vocabulary,
                              const FrozenPlacement& placement,
                              Log& log) {
  const FrozenPart text = text_part(recipe, vocabulary);
  say_loading(text, log);
  return Umt5Encoder(text_config(recipe.options.model.preset, vocabulary),
                     load_frozen(text.model, text.source, placement));
}

std::int64_t text_width(const ResolvedRecipe& recipe, std::int64_t vocabulary) {
  const Umt5Config config = text_config(recipe.options.model.preset, vocabulary);
  require<DataError>(vocabulary <= config.vocab,
                     "joining {} and the text encoder: the tokenizer has {} pieces, the encoder {} "
                     "rows. Fix: give the tokenizer that belongs to the encoder "
                     "(model.components.tokenizer).",
                     recipe.options.model.components.tokenizer, vocabulary, config.vocab);
  return config.dim;
}

}  // namespace wam
