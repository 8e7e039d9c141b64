#include "apps/wamtrain/texts_on_ranks.h"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace wam {
namespace {

// Fewer prompts are not worth loading another copy of the encoder.
constexpr std::size_t kPromptsOfARank = 64;

}  // namespace

std::unique_ptr<PromptTexts> texts_on_ranks(const ResolvedRecipe& recipe,
                                            const std::vector<std::string>& prompts,
                                            const std::string& weights_hash,
                                            const FrozenPlacement& placement,
                                            Ranks& ranks,
                                            Log& log) {
  auto texts = std::make_unique<PromptTexts>(recipe, weights_hash, placement, log);
  const std::vector<std::string> missing = nlohmann::json::parse(
      ranks.from_first([&] { return nlohmann::json(texts->missing(prompts)).dump(); }));
  const std::size_t parts = std::clamp<std::size_t>(
      missing.size() / kPromptsOfARank, 1, static_cast<std::size_t>(ranks.env().world_size));
  std::vector<std::string> own;
  for (auto i = static_cast<std::size_t>(ranks.env().global_rank); i < missing.size(); i += parts) {
    if (static_cast<std::size_t>(ranks.env().global_rank) < parts) own.push_back(missing[i]);
  }
  texts->prepare(own);
  ranks.wait_for_all();
  texts->prepare(prompts);
  return texts;
}

}  // namespace wam
