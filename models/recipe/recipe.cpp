#include "models/recipe/recipe.h"

#include <filesystem>
#include <utility>
#include <vector>

#include <fmt/core.h>

namespace wam {
namespace {

// Height and width of one camera view. The 5B on DROID: three 160x320 views, a canvas of 320x640
// reduced to 160x320. The 14B: 176x320 views, and the canvas as it is. Source: DreamZero @ ab790c1.
std::pair<std::int64_t, std::int64_t> view_size_of(ModelPreset preset) {
  if (preset == ModelPreset::k5b) return {160, 320};
  if (preset == ModelPreset::k14b) return {176, 320};
  return {32, 64};
}

WamConfig configure(const ModelSection& section, Problems& problems) {
  auto config = wam_preset(std::string(name_of(section.preset)));
  config.max_blocks = section.blocks;
  config.target_height = section.target_height.value_or(config.target_height);
  config.target_width = section.target_width.value_or(config.target_width);
  config.layers = section.layers.value_or(config.layers);
  config.width = section.width.value_or(config.width);
  config.heads = section.heads.value_or(config.heads);
  config.ffn_width = section.feed_forward.value_or(config.ffn_width);
  try {
    check(config);
  } catch (const ConfigError& error) {
    problems.add("model", error.what());
  }
  return config;
}

void check_there(const std::string& path, const std::string& key, Problems& problems) {
  std::error_code error;
  if (std::filesystem::exists(path, error)) return;
  problems.add(key, fmt::format("{} is not there. Fix: check the path{}.", path,
                                path.find('/') == std::string::npos ? ", or write random" : ""));
}

// What the components that are not there need. Missing ones are listed in one problem.
class ComponentCheck {
 public:
  ComponentCheck(const ModelSection& section, Problems& problems)
      : section_(section), problems_(problems) {}

  void check(const std::string& name, const std::string& value, bool init_brings_it) {
    if (!value.empty() && value != "random") check_there(value, key(name), problems_);
    if (value.empty() && !init_brings_it) missing_.push_back(name);
  }
  void check_tokenizer() {
    const auto& value = section_.components.tokenizer;
    check("tokenizer", value, false);
    if (value != "random") return;
    problems_.add(key("tokenizer"),
                  "random is not possible here. Fix: give the path of a SentencePiece model.");
  }
  void check_transformer() {
    const auto& dit = section_.components.dit;
    if (dit.empty() || section_.init.empty() || dit == section_.init) {
      check("dit", dit, !section_.init.empty());
      return;
    }
    problems_.add(key("dit"), fmt::format("the transformer would come from {} and from model.init: "
                                          "{}. Fix: leave one of them empty.",
                                          dit, section_.init));
  }
  void finish() {
    if (missing_.empty()) return;
    problems_.add("model.components",
                  fmt::format("model.init does not bring {}. Fix: give the path of each (random "
                              "serves for trials, except for the tokenizer).",
                              join(missing_)));
  }

 private:
  static std::string key(const std::string& name) { return "model.components." + name; }

  const ModelSection& section_;
  Problems& problems_;
  std::vector<std::string> missing_;
};

void check_components(const ModelSection& section, Problems& problems) {
  const bool has_folder = init_is_folder(section);
  ComponentCheck parts(section, problems);
  parts.check_transformer();
  parts.check("text_encoder", section.components.text_encoder, has_folder);
  parts.check("image_encoder", section.components.image_encoder, has_folder);
  parts.check("vae", section.components.vae, has_folder);
  parts.check_tokenizer();
  parts.finish();
}

}  // namespace

bool init_is_folder(const ModelSection& section) {
  return !section.init.empty() && section.init != "random";
}

ResolvedModel resolve(const ModelSection& section, Problems& problems) {
  if (init_is_folder(section)) check_there(section.init, "model.init", problems);
  check_components(section, problems);
  const auto [view_height, view_width] = view_size_of(section.preset);
  ResolvedModel out{.options = section,
                    .config = configure(section, problems),
                    .view_height = section.view_height.value_or(view_height),
                    .view_width = section.view_width.value_or(view_width)};
  out.options.view_height = out.view_height;
  out.options.view_width = out.view_width;
  out.options.target_height = out.config.target_height;
  out.options.target_width = out.config.target_width;
  out.options.layers = out.config.layers;
  out.options.width = out.config.width;
  out.options.heads = out.config.heads;
  out.options.feed_forward = out.config.ffn_width;
  return out;
}

void check(const MemorySection& section, std::int64_t layers, Problems& problems) {
  if (section.first_blocks > 0 && section.first_blocks >= layers) {
    problems.add("memory.first_blocks",
                 fmt::format("{} blocks, and the transformer has {}. Fix: set memory.recompute for "
                             "all of them, or a smaller number.",
                             section.first_blocks, layers));
  }
  if (section.first_blocks > 0 && section.first_recompute == section.recompute) {
    problems.add(
        "memory.first_blocks",
        fmt::format("the first blocks would follow {}, as all others do. Fix: remove it, or "
                    "give memory.recompute and memory.first_recompute different policies.",
                    name_of(section.recompute)));
  }
  if (section.first_recompute != RecomputePolicy::kFull && section.first_blocks == 0) {
    problems.add("memory.first_recompute",
                 "a policy for the first blocks, but memory.first_blocks is 0. Fix: say how many "
                 "blocks, or remove it.");
  }
}

}  // namespace wam
