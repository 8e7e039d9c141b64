#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "apps/wamtrain/bench/context.h"
#include "apps/wamtrain/datasets.h"
#include "apps/wamtrain/latents.h"
#include "apps/wamtrain/training_parts.h"
#include "core/cuda/device.h"
#include "data/loader/loader.h"

namespace wam {

// The training split of the recipe's datasets as a stream. Lives where it was made: the loader
// refers to its neighbours.
struct DataStream {
  DataStream(const BenchContext& context, std::unique_ptr<TextEmbeddings> embeddings)
      : data(open_data(context.recipe, {}, context.log)),
        latents(open_latents(context.recipe,
                             *data.splits.training,
                             {.device = context.device, .type = context.type},
                             context.log)),
        text(std::move(embeddings)),
        order(data.splits.training->member_sizes(),
              data.splits.training->member_weights(),
              context.recipe.options.run.seed,
              mixture_draw(context.recipe)) {}
  void open(const BenchContext& context) { open(context, windows()); }
  // The same stream of windows, loaded by another, or by so many workers.
  void open(const BenchContext& context,
            std::shared_ptr<const Dataset> dataset,
            std::optional<std::int64_t> workers = {}) {
    LoaderOptions options = loader_options(context.recipe, context.device, 0, {});
    options.workers = workers.value_or(options.workers);
    if (context.device.is_cuda()) compute_alone();  // as in training
    loader.reset();  // the threads of two would be in each other's way
    loader.emplace(std::move(dataset), order, *text, options);
  }

  // As the recipe trains on them.
  [[nodiscard]] std::shared_ptr<const Dataset> windows() const {
    return with_latents(data.splits.training, latents);
  }

  OpenedData data;
  LatentCaches latents;
  std::unique_ptr<TextEmbeddings> text;
  SampleOrder order;
  std::optional<Loader> loader;
};

}  // namespace wam
