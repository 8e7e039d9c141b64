#include "apps/wamtrain/initial_weights.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "core/base/errors.h"
#include "core/base/names.h"
#include "core/train/initialise.h"
#include "core/weights/dreamzero_folder.h"
#include "core/weights/weights_load.h"

namespace wam {
namespace {

// What the Wan base models do not have: the action and state networks; Wan2.2-TI2V-5B lacks the
// image branch of cross attention as well.
bool is_absent_from_base(std::string_view name, ModelType type) {
  constexpr std::array<std::string_view, 3> kAdded{"state_encoder.", "action_encoder.",
                                                   "action_decoder."};
  for (const auto prefix : kAdded) {
    if (name.starts_with(prefix)) return true;
  }
  if (type == ModelType::kI2v) return false;
  constexpr std::array<std::string_view, 3> kImage{".cross_attn.k_img.", ".cross_attn.v_img.",
                                                   ".cross_attn.norm_k_img."};
  return name.starts_with("img_emb.") || std::any_of(kImage.begin(), kImage.end(), [&](auto part) {
           return name.find(part) != std::string_view::npos;
         });
}

void load_base(const std::string& path,
               const ResolvedRecipe& recipe,
               const Model& model,
               std::vector<Unit>& units,
               Log& log) {
  const WeightsSource source(path);
  log.info(fmt::format("transformer: {} ({})", path, source.summary()));
  const NameMatch match = load_units(source, "", units, Strictness::kLenient);
  std::vector<std::string> surprising;
  for (const auto& name : match.missing) {
    if (!is_absent_from_base(name, recipe.model.config.type)) surprising.push_back(name);
  }
  require<DataError>(surprising.empty(),
                     "loading the transformer from {}: it lacks {} tensors that every Wan base of "
                     "this kind has, {} among them. Fix: give the transformer that belongs to "
                     "model.preset: {}.",
                     path, surprising.size(), surprising.empty() ? "" : surprising.front(),
                     name_of(recipe.options.model.preset));
  if (!match.unexpected.empty()) {
    log.warn(fmt::format("{} tensors of {} are not part of this model and were left out: {}",
                         match.unexpected.size(), path, join(match.unexpected)));
  }
  initialise_units(model, units, recipe.options.run.seed, match.missing);
  log.info(fmt::format("freshly initialised, as expected of this base ({} tensors): {}",
                       match.missing.size(), join(match.missing)));
}

}  // namespace

void fill_initial_weights(const ResolvedRecipe& recipe,
                          const Model& model,
                          std::vector<Unit>& units,
                          Log& log) {
  const ModelSection& section = recipe.options.model;
  const std::string& dit = section.components.dit;
  if (section.init == "random" || dit == "random") {
    log.info("transformer: random");
    initialise_units(model, units, recipe.options.run.seed);
  } else if (init_is_folder(section)) {
    const WeightsSource source(section.init);
    log.info(fmt::format("transformer: {} ({})", section.init, source.summary()));
    load_units(source, kDitPrefix, units, Strictness::kStrict);
  } else {
    load_base(dit, recipe, model, units, log);
  }
}

}  // namespace wam
