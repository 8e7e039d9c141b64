#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "apps/wamtrain/recipe.h"
#include "core/train/manifest.h"
#include "data/normalise/statistics.h"
#include "models/wam/config.h"

namespace wam {

// The frozen parts of a run with the hashes of their weights (computed: files are read through).
std::vector<FrozenOrigin> frozen_origins(const ResolvedRecipe& recipe);

// What decides about the parameters and their meaning, as a JSON object: sizes of the transformer
// and hashes of the frozen encoders. Two runs with equal text can go on from each other.
std::string model_identity(const WamConfig& config, const std::vector<FrozenOrigin>& frozen);
// The sizes again. Errors: DataError naming `where` for text that model_identity did not write.
WamConfig config_of_identity(const std::string& identity, const std::string& where);

// What an export needs beside the weights: everything that the recipe said about the parts, so that
// a checkpoint can be exported without the recipe's file.
struct ExportFacts {
  std::string metadata;                  // metadata.json, as it is to be written
  std::vector<std::string> embodiments;  // as the recipe names them
  std::int64_t view_height = 0;
  std::int64_t view_width = 0;
  std::int64_t vocabulary = 0;  // pieces of the tokenizer
  ModelSection model;           // preset, init and components
  std::uint64_t seed = 0;       // of random frozen weights

  // A recipe with these facts, for the functions of encoders.h.
  [[nodiscard]] ResolvedRecipe recipe() const;
};
ExportFacts export_facts(const ResolvedRecipe& recipe,
                         const std::map<std::string, Statistics>& statistics);
std::string export_facts_json(const ExportFacts& facts);
// Errors: DataError naming `where`.
ExportFacts parse_export_facts(const std::string& json, const std::string& where);

}  // namespace wam
