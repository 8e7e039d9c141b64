#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "apps/wamtrain/recipe.h"
#include "core/base/log.h"
#include "core/train/dataset.h"
#include "data/text_cache/text_cache.h"
#include "data/tokenizer/tokenizer.h"
#include "models/frozen/frozen_weights.h"

namespace wam {

// The embeddings of a recipe's prompts: from the cache, those that it lacks from the text encoder.
// Threads: as TextCache. `recipe` and `log` must outlive it.
class PromptTexts : public TextEmbeddings {
 public:
  // `weights_hash`: frozen_fingerprint of the text encoder, in hex. Errors: DataError when
  // tokenizer and encoder do not belong together; as TextCache.
  PromptTexts(const ResolvedRecipe& recipe,
              const std::string& weights_hash,
              const FrozenPlacement& placement,
              Log& log);

  // As TextCache.
  std::vector<std::string> missing(const std::vector<std::string>& prompts);
  // Embeds what is missing of `prompts`; the text encoder is loaded for that alone, and released.
  // Afterwards `rows` knows all of them. Errors: as loading and TextCache::fill.
  void prepare(const std::vector<std::string>& prompts);

  [[nodiscard]] at::Tensor rows(const std::string& prompt) const override {
    return cache_.rows(prompt);
  }
  [[nodiscard]] std::int64_t width() const override { return cache_.width(); }
  [[nodiscard]] const std::filesystem::path& folder() const noexcept { return cache_.folder(); }

 private:
  const ResolvedRecipe& recipe_;
  FrozenPlacement placement_;
  Log& log_;
  Tokenizer tokenizer_;
  TextCache cache_;
};

}  // namespace wam
