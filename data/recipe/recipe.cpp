#include "data/recipe/recipe.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

namespace wam {
namespace {

constexpr std::int64_t kMaxAutoWorkers = 16;

void check_dataset(const DatasetSection& dataset, const std::string& key, Problems& problems) {
  if (dataset.path.empty()) {
    problems.add(key + ".path", "missing. Fix: give the folder of a LeRobot dataset.");
  }
  if (dataset.embodiment.empty()) {
    problems.add(key + ".embodiment",
                 "missing. Fix: name a record of configs/embodiment, such as oxe_droid.");
  }
  if (dataset.max_length > 0 && dataset.max_length < dataset.min_length) {
    problems.add(key + ".max_length", fmt::format("{} is below min_length {}. Fix: raise it, or 0 "
                                                  "for no bound.",
                                                  dataset.max_length, dataset.min_length));
  }
}

}  // namespace

ResolvedData resolve(const DataSection& section,
                     std::int64_t cores,
                     std::int64_t micro_batch,
                     Problems& problems) {
  ResolvedData out{.options = section};
  if (section.datasets.empty()) {
    problems.add("data.datasets",
                 "no dataset. Fix: add one, as in datasets: [{path: DIR, embodiment: oxe_droid}].");
  }
  for (std::size_t i = 0; i < section.datasets.size(); ++i) {
    check_dataset(section.datasets[i], fmt::format("data.datasets.{}", i), problems);
  }
  if (section.validation >= 1 && section.validation != std::floor(section.validation)) {
    problems.add("data.validation", fmt::format("found {}, expected a whole number of episodes or "
                                                "a share below 1. Fix: round it.",
                                                section.validation));
  }
  if (section.latents == LatentSource::kCached && section.augmentations == 0) {
    problems.add("data.latents",
                 "cached, but data.augmentations is 0: pictures are cropped and jittered anew each "
                 "time that they come, so that no latent comes twice. Fix: data.augmentations: 1 "
                 "(the centre crop, no jitter) or a few, such as 4, or data.latents: live.");
  }
  if (section.statistics.empty()) {
    problems.add("data.statistics",
                 "empty. Fix: write auto, compute or the path of a metadata.json.");
  }
  out.workers = section.workers.value_or(std::clamp<std::int64_t>(cores - 1, 1, kMaxAutoWorkers));
  out.prefetch_samples =
      section.prefetch_samples.value_or(std::max(2 * micro_batch, 2 * out.workers));
  out.options.workers = out.workers;
  out.options.prefetch_samples = out.prefetch_samples;
  return out;
}

std::int64_t held_back_episodes(double validation, std::int64_t num_episodes) {
  const double episodes =
      validation < 1 ? std::ceil(validation * static_cast<double>(num_episodes)) : validation;
  return static_cast<std::int64_t>(std::min(episodes, static_cast<double>(num_episodes)));
}

}  // namespace wam
