#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/wamtrain/latents.h"
#include "data/loader/loader.h"
#include "models/wam/frozen_encoders.h"

namespace wam {

// What is to be encoded of one dataset.
struct LatentWork {
  std::shared_ptr<const WindowDataset> windows;
  std::size_t member = 0;
  std::shared_ptr<const ClipTable> clips;
  std::unique_ptr<LatentCacheBuild> build;
  std::vector<std::size_t> missing;  // shards, of all ranks

  [[nodiscard]] const LatentLayout& layout() const { return build->options().layout; }
};

// Encodes shards of a dataset's latents, one after the other, while threads decode ahead.
class ShardEncoder {
 public:
  struct Options {
    FrozenPlacement placement;
    // Asked and told between two batches.
    std::function<bool()> stops;
    std::function<void()> moved;
  };
  // `recipe`, `encoders` and `log` must outlive it.
  ShardEncoder(const ResolvedRecipe& recipe, FrozenEncoders& encoders, Options options, Log& log);

  // False when it was stopped. Errors: those of reading; DataError for values that are not finite.
  bool encode(const LatentWork& work, const std::vector<std::size_t>& shards);

 private:
  [[nodiscard]] std::int64_t batch() const;
  void open_loader(const LatentWork& work, const std::vector<std::size_t>& shards);
  [[nodiscard]] EncodedPictures encoded(const Batch& clips);
  void fill_from(const Batch& clips, const LatentWork& work);

  const ResolvedRecipe& recipe_;
  FrozenEncoders& encoders_;
  Options options_;
  Log& log_;
  std::unique_ptr<TextEmbeddings> text_;
  std::unique_ptr<Loader> loader_;
  std::deque<std::size_t> shards_;    // that are not written yet
  std::optional<LatentItems> items_;  // of the first of them
  std::int64_t filled_ = 0;
};

}  // namespace wam
