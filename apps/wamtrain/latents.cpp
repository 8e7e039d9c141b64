#include "apps/wamtrain/latents.h"

#include <nlohmann/json.hpp>

#include "apps/wamtrain/encoders.h"
#include "core/base/errors.h"
#include "core/base/format.h"
#include "core/io/hash.h"
#include "core/io/tensor_file.h"

namespace wam {
namespace {

using Json = nlohmann::ordered_json;

LatentForm form_of(const WamConfig& model, at::ScalarType type) {
  return {.channels = model.latent_channels,
          .rows = model.target_height / model.vae_stride,
          .columns = model.target_width / model.vae_stride,
          .has_still = model.type == ModelType::kI2v,
          .tokens = model.clip_tokens,
          .width = model.clip_width,
          .type = type};
}

// Another place for each: members before this one that have the same name give it a number.
std::string folder_name(const WindowDataset& windows, std::size_t member) {
  const std::string name = windows.name(member);
  std::size_t same = 0;
  for (std::size_t m = 0; m < member; ++m) {
    if (windows.name(m) == name) ++same;
  }
  return same == 0 ? name : fmt::format("{}_{}", name, same + 1);
}

std::string contents_of(const ResolvedRecipe& recipe,
                        const WindowDataset& windows,
                        std::size_t member,
                        const EncoderHashes& hashes,
                        const FrozenPlacement& placement) {
  const WamConfig& model = recipe.model.config;
  return Json{{"pictures", Json::parse(windows.picture_fingerprint(member))},
              {"target", fmt::format("{}x{}", model.target_height, model.target_width)},
              {"model", name_of(model.type)},
              {"vae", "xxh3 " + hashes.vae},
              {"image_encoder", "xxh3 " + hashes.image_encoder},
              {"type", dtype_name(placement.type)},
              {"encoded_on", placement.device.is_cuda() ? "cuda" : "cpu"}}
      .dump();
}

}  // namespace

bool caches_latents(const ResolvedRecipe& recipe) {
  return recipe.options.data.latents == LatentSource::kCached;
}

LatentCacheOptions latent_cache_of(const ResolvedRecipe& recipe,
                                   const WindowDataset& windows,
                                   std::size_t member,
                                   const ClipTable& clips,
                                   const EncoderHashes& hashes,
                                   const FrozenPlacement& placement) {
  std::vector<std::int64_t> frames;
  for (std::int64_t i = 0; i < clips.size(); ++i) frames.push_back(clips.at(i).frames);
  return {.folder = recipe.latent_cache / folder_name(windows, member),
          .contents = contents_of(recipe, windows, member, hashes, placement),
          .layout = LatentLayout(form_of(recipe.model.config, placement.type), frames,
                                 windows.augmentations())};
}

LatentCaches open_latents(const ResolvedRecipe& recipe,
                          const WindowDataset& windows,
                          const EncoderHashes& hashes,
                          const FrozenPlacement& placement,
                          Log& log) {
  LatentCaches out;
  if (!caches_latents(recipe)) return out;
  for (std::size_t m = 0; m < windows.num_members(); ++m) {
    ClipTable clips = windows.clips(m);
    const auto options = latent_cache_of(recipe, windows, m, clips, hashes, placement);
    log.info(fmt::format("latents: {} clips, {} augmentations of each, cached in {}",
                         with_commas(clips.size()), windows.augmentations(),
                         options.folder.string()));
    out.push_back(std::make_shared<const CachedClips>(
        CachedClips{.clips = std::move(clips), .latents = LatentCache(options)}));
  }
  return out;
}

LatentCaches open_latents(const ResolvedRecipe& recipe,
                          const WindowDataset& windows,
                          const FrozenPlacement& placement,
                          Log& log) {
  if (!caches_latents(recipe)) return {};
  const auto hash = [](const FrozenPart& part) {
    return hash_hex(frozen_fingerprint(part.model, part.source));
  };
  return open_latents(recipe, windows,
                      {.vae = hash(vae_part(recipe)), .image_encoder = hash(image_part(recipe))},
                      placement, log);
}

std::shared_ptr<const Dataset> with_latents(const std::shared_ptr<const WindowDataset>& windows,
                                            const LatentCaches& caches) {
  if (caches.empty()) return windows;
  return std::make_shared<const CachedWindows>(windows, caches);
}

}  // namespace wam
