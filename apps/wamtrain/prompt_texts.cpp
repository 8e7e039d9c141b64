#include "apps/wamtrain/prompt_texts.h"

#include <algorithm>
#include <memory>

#include <ATen/ops/zeros.h>

#include "apps/wamtrain/encoders.h"
#include "apps/wamtrain/progress_bar.h"
#include "core/io/tensor_file.h"
#include "models/text/umt5.h"

namespace wam {
namespace {

// Pads the id lists of one call into a rectangle on the encoder's device.
at::Tensor encode_ids(const Umt5Encoder& encoder,
                      at::Device device,
                      const std::vector<std::vector<std::int64_t>>& ids) {
  std::vector<std::int64_t> lengths;
  for (const auto& list : ids) lengths.push_back(static_cast<std::int64_t>(list.size()));
  const std::int64_t longest = *std::max_element(lengths.begin(), lengths.end());
  at::Tensor rectangle = at::zeros({static_cast<std::int64_t>(ids.size()), longest}, at::kLong);
  auto rows = rectangle.accessor<std::int64_t, 2>();
  for (std::size_t b = 0; b < ids.size(); ++b) {
    for (std::size_t i = 0; i < ids[b].size(); ++i) {
      rows[static_cast<std::int64_t>(b)][static_cast<std::int64_t>(i)] = ids[b][i];
    }
  }
  return encoder.encode(rectangle.to(device), lengths);
}

TextCache::Options cache_options(const ResolvedRecipe& recipe,
                                 const Tokenizer& tokenizer,
                                 const std::string& weights_hash,
                                 const FrozenPlacement& placement,
                                 Log& log) {
  const auto bar = std::make_shared<ProgressBar>(log, "text embeddings", "prompts");
  return {
      .folder = recipe.text_cache,
      .weights = fmt::format("{}-{}-{}", weights_hash, placement.device.is_cuda() ? "cuda" : "cpu",
                             dtype_name(placement.type)),
      .width = text_width(recipe, tokenizer.vocabulary_size()),
      .on_progress = [bar](std::int64_t done, std::int64_t total) { bar->show(done, total); }};
}

}  // namespace

PromptTexts::PromptTexts(const ResolvedRecipe& recipe,
                         const std::string& weights_hash,
                         const FrozenPlacement& placement,
                         Log& log)
    : recipe_(recipe),
      placement_(placement),
      log_(log),
      tokenizer_(recipe.options.model.components.tokenizer),
      cache_(cache_options(recipe, tokenizer_, weights_hash, placement, log), tokenizer_, log) {}

std::vector<std::string> PromptTexts::missing(const std::vector<std::string>& prompts) {
  return cache_.missing(prompts);
}

void PromptTexts::prepare(const std::vector<std::string>& prompts) {
  if (cache_.missing(prompts).empty()) return;
  const Umt5Encoder encoder =
      load_text_encoder(recipe_, tokenizer_.vocabulary_size(), placement_, log_);
  cache_.fill(prompts, [&](const std::vector<std::vector<std::int64_t>>& ids) {
    return encode_ids(encoder, placement_.device, ids);
  });
}

}  // namespace wam
