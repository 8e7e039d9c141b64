#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apps/wamtrain/prompt_texts.h"
#include "apps/wamtrain/ranks.h"

namespace wam {

// Embeddings of all prompts, on every rank: what the cache lacks is embedded by all of them, each a
// part. All ranks call it together. Errors: as PromptTexts.
std::unique_ptr<PromptTexts> texts_on_ranks(const ResolvedRecipe& recipe,
                                            const std::vector<std::string>& prompts,
                                            const std::string& weights_hash,
                                            const FrozenPlacement& placement,
                                            Ranks& ranks,
                                            Log& log);

}  // namespace wam
