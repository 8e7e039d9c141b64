#include "apps/wamtrain/run_identity.h"

#include <nlohmann/json.hpp>

#include "apps/wamtrain/encoders.h"
#include "core/base/errors.h"
#include "core/base/names.h"
#include "core/io/hash.h"
#include "data/tokenizer/tokenizer.h"

namespace wam {
namespace {

using Json = nlohmann::ordered_json;

// Every size of a config by name; the one list that writing and reading walk.
template <class Config, class Visit>
void visit_sizes(Config& c, const Visit& visit) {
  visit("preset", c.preset);
  visit("width", c.width);
  visit("layers", c.layers);
  visit("heads", c.heads);
  visit("ffn_width", c.ffn_width);
  visit("latent_channels", c.latent_channels);
  visit("frequency_width", c.frequency_width);
  visit("text_length", c.text_length);
  visit("text_width", c.text_width);
  visit("clip_tokens", c.clip_tokens);
  visit("clip_width", c.clip_width);
  visit("hidden_width", c.hidden_width);
  visit("action_width", c.action_width);
  visit("state_width", c.state_width);
  visit("actions_per_block", c.actions_per_block);
  visit("max_blocks", c.max_blocks);
  visit("eps", c.eps);
  visit("vae_stride", c.vae_stride);
  visit("target_height", c.target_height);
  visit("target_width", c.target_width);
}

FrozenOrigin origin_of(const FrozenPart& part) {
  return {part.component, part.origin, hash_hex(frozen_fingerprint(part.model, part.source))};
}

}  // namespace

std::vector<FrozenOrigin> frozen_origins(const ResolvedRecipe& recipe) {
  const Tokenizer tokenizer(recipe.options.model.components.tokenizer);
  return {origin_of(vae_part(recipe)),
          origin_of(image_part(recipe)),
          origin_of(text_part(recipe, tokenizer.vocabulary_size())),
          {"tokenizer", recipe.options.model.components.tokenizer, tokenizer.fingerprint()}};
}

std::string model_identity(const WamConfig& config, const std::vector<FrozenOrigin>& frozen) {
  Json sizes;
  sizes["type"] = name_of(config.type);
  visit_sizes(config, [&](const char* name, const auto& value) { sizes[name] = value; });
  Json hashes;
  for (const auto& origin : frozen) hashes[origin.component] = origin.hash;
  return Json{{"transformer", sizes}, {"frozen", hashes}}.dump();
}

WamConfig config_of_identity(const std::string& identity, const std::string& where) {
  try {
    const Json sizes = Json::parse(identity).at("transformer");
    WamConfig config;
    const auto type = parse_name<ModelType>(sizes.at("type").get<std::string>());
    require<DataError>(type.has_value(), "reading {}: unknown kind of model {}.", where,
                       sizes.at("type").get<std::string>());
    config.type = *type;
    visit_sizes(config, [&](const char* name, auto& value) { sizes.at(name).get_to(value); });
    return config;
  } catch (const nlohmann::json::exception& error) {
    throw DataError(fmt::format("reading {}: its description of the model is not whole ({}).",
                                where, error.what()));
  }
}

ResolvedRecipe ExportFacts::recipe() const {
  ResolvedRecipe out;
  out.options.model = model;
  out.options.run.seed = seed;
  return out;
}

ExportFacts export_facts(const ResolvedRecipe& recipe,
                         const std::map<std::string, Statistics>& statistics) {
  ExportFacts facts;
  facts.metadata = metadata_text(statistics);
  for (const auto& dataset : recipe.options.data.datasets) {
    facts.embodiments.push_back(dataset.embodiment);
  }
  facts.view_height = recipe.model.view_height;
  facts.view_width = recipe.model.view_width;
  facts.vocabulary = Tokenizer(recipe.options.model.components.tokenizer).vocabulary_size();
  facts.model = recipe.options.model;
  facts.seed = recipe.options.run.seed;
  return facts;
}

std::string export_facts_json(const ExportFacts& facts) {
  const ComponentSection& parts = facts.model.components;
  const Json components{{"dit", parts.dit},
                        {"text_encoder", parts.text_encoder},
                        {"image_encoder", parts.image_encoder},
                        {"vae", parts.vae},
                        {"tokenizer", parts.tokenizer}};
  return Json{{"metadata", facts.metadata},
              {"embodiments", facts.embodiments},
              {"view", {facts.view_height, facts.view_width}},
              {"vocabulary", facts.vocabulary},
              {"preset", name_of(facts.model.preset)},
              {"init", facts.model.init},
              {"components", components},
              {"seed", facts.seed}}
      .dump();
}

ExportFacts parse_export_facts(const std::string& text, const std::string& where) {
  try {
    const Json json = Json::parse(text);
    ExportFacts facts;
    json.at("metadata").get_to(facts.metadata);
    json.at("embodiments").get_to(facts.embodiments);
    json.at("view").at(0).get_to(facts.view_height);
    json.at("view").at(1).get_to(facts.view_width);
    json.at("vocabulary").get_to(facts.vocabulary);
    const auto preset = parse_name<ModelPreset>(json.at("preset").get<std::string>());
    require<DataError>(preset.has_value(), "reading {}: unknown preset {}.", where,
                       json.at("preset").get<std::string>());
    facts.model.preset = *preset;
    json.at("init").get_to(facts.model.init);
    const Json& parts = json.at("components");
    parts.at("dit").get_to(facts.model.components.dit);
    parts.at("text_encoder").get_to(facts.model.components.text_encoder);
    parts.at("image_encoder").get_to(facts.model.components.image_encoder);
    parts.at("vae").get_to(facts.model.components.vae);
    parts.at("tokenizer").get_to(facts.model.components.tokenizer);
    json.at("seed").get_to(facts.seed);
    return facts;
  } catch (const nlohmann::json::exception& error) {
    throw DataError(fmt::format("reading {}: what it says for an export is not whole ({}).", where,
                                error.what()));
  }
}

}  // namespace wam
