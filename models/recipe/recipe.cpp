#include "models/recipe/recipe.h"

#include <filesystem>

#include <fmt/core.h>

namespace wam {
namespace {

struct Geometry {
  std::int64_t view_height, view_width, target_height, target_width;
};

// The 5B on DROID: three 160x320 views, a canvas of 320x640 reduced to 160x320. The 14B: 176x320
// views, and the canvas as it is. Source: DreamZero @ ab790c1, groot/vla/configs.
Geometry geometry_of(ModelPreset preset) {
  switch (preset) {
    case ModelPreset::k5b:
      return {160, 320, 160, 320};
    case ModelPreset::k14b:
      return {176, 320, 352, 640};
    case ModelPreset::kTiny5b:
    case ModelPreset::kTiny14b:
      return {32, 64, 64, 128};
  }
  return {};
}

void check_there(const std::string& path, const std::string& key, Problems& problems) {
  std::error_code error;
  if (std::filesystem::exists(path, error)) return;
  problems.add(key, fmt::format("{} is not there. Fix: check the path{}.", path,
                                path.find('/') == std::string::npos ? ", or write random" : ""));
}

struct Component {
  std::string name;
  const std::string& value;
  bool in_init_folder;
  bool may_be_random;
};

void check_component(const Component& part, const ModelSection& section, Problems& problems) {
  const std::string key = "model.components." + part.name;
  if (part.value == "random") {
    if (!part.may_be_random) {
      problems.add(key,
                   "random is not possible here. Fix: give the path of a SentencePiece model.");
    }
  } else if (!part.value.empty()) {
    check_there(part.value, key, problems);
  } else if (!(init_is_folder(section) && part.in_init_folder)) {
    problems.add(key, fmt::format("missing, and model.init does not bring it. Fix: give a path{}.",
                                  part.may_be_random ? ", or random for a trial" : ""));
  }
}

void check_transformer(const ModelSection& section, Problems& problems) {
  const auto& dit = section.components.dit;
  if (section.init.empty()) {
    check_component({"dit", dit, true, true}, section, problems);
  } else if (!dit.empty() && dit != section.init) {
    problems.add("model.components.dit",
                 fmt::format("the transformer would come from {} and from model.init: {}. Fix: "
                             "leave one of them empty.",
                             dit, section.init));
  }
}

}  // namespace

bool init_is_folder(const ModelSection& section) {
  return !section.init.empty() && section.init != "random";
}

ResolvedModel resolve(const ModelSection& section, Problems& problems) {
  if (init_is_folder(section)) check_there(section.init, "model.init", problems);
  check_transformer(section, problems);
  const auto& parts = section.components;
  check_component({"text_encoder", parts.text_encoder, true, true}, section, problems);
  check_component({"image_encoder", parts.image_encoder, true, true}, section, problems);
  check_component({"vae", parts.vae, true, true}, section, problems);
  check_component({"tokenizer", parts.tokenizer, false, false}, section, problems);

  const Geometry preset = geometry_of(section.preset);
  ResolvedModel out{.options = section,
                    .view_height = section.view_height.value_or(preset.view_height),
                    .view_width = section.view_width.value_or(preset.view_width),
                    .target_height = section.target_height.value_or(preset.target_height),
                    .target_width = section.target_width.value_or(preset.target_width)};
  out.options.view_height = out.view_height;
  out.options.view_width = out.view_width;
  out.options.target_height = out.target_height;
  out.options.target_width = out.target_width;
  return out;
}

}  // namespace wam
