#include "core/train/recipe.h"

#include <algorithm>
#include <cmath>

namespace wam {

Schedule ResolvedTrain::make_schedule() const {
  return {.kind = options.schedule,
          .peak = options.learning_rate,
          .warmup_steps = warmup_steps,
          .total_steps = std::max<std::int64_t>(options.steps, 1)};
}

ResolvedTrain resolve(const TrainSection& section, Problems& problems) {
  ResolvedTrain out{.options = section};
  if (section.micro_batch > section.global_batch) {
    problems.add("train.micro_batch",
                 fmt::format("{} samples do not fit into train.global_batch: {}. Fix: set "
                             "train.micro_batch to at most {}.",
                             section.micro_batch, section.global_batch, section.global_batch));
  }
  const bool is_ratio = section.warmup < 1;
  const double steps =
      is_ratio ? std::ceil(section.warmup * static_cast<double>(section.steps)) : section.warmup;
  if (steps != std::floor(steps)) {
    problems.add("train.warmup",
                 fmt::format("found {}, expected a whole number of steps or a ratio "
                             "below 1. Fix: round it.",
                             section.warmup));
  } else if (steps > static_cast<double>(section.steps) && section.steps > 0) {
    problems.add("train.warmup",
                 fmt::format("{} steps of warm-up are more than train.steps: {}. Fix: shorten it, "
                             "or give a ratio below 1.",
                             section.warmup, section.steps));
  }
  out.warmup_steps = std::min(static_cast<std::int64_t>(std::min(steps, 9e15)), section.steps);
  out.options.warmup = static_cast<double>(out.warmup_steps);
  return out;
}

}  // namespace wam
