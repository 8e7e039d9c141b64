#include "apps/wamtrain/bench/open_bench.h"

#include <chrono>
#include <utility>

#include "apps/wamtrain/datasets.h"
#include "core/base/errors.h"

namespace wam {

Figure measure_opening(const BenchContext& context,
                       const std::map<std::string, Statistics>& statistics) {
  const auto start = std::chrono::steady_clock::now();
  WindowDatasetOptions options = dataset_options(context.recipe);
  std::int64_t episodes = 0;
  for (auto& member : options.members) {
    member.statistics = statistics.at(member.embodiment.tag);
    episodes += member.reader->num_episodes();
  }
  options.index.on_progress = [&](std::int64_t, std::int64_t) {
    throw DeviceError(
        fmt::format("timing how datasets open: {} does not keep their index. Fix: set "
                    "data.index_cache to a folder that can be written.",
                    context.recipe.index_cache.string()));
  };
  const DatasetSplits splits = open_window_datasets(std::move(options));
  const double open_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return {"open_s", fmt::format("to open {} episodes with their index", episodes), open_s, "s", {}};
}

}  // namespace wam
