#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apps/wamtrain/predict/cluster.h"
#include "apps/wamtrain/predict/step_time.h"
#include "apps/wamtrain/rates/card_rates.h"
#include "apps/wamtrain/recipe.h"
#include "parallel/estimate/memory.h"
#include "parallel/estimate/spread.h"
#include "parallel/estimate/traffic.h"

namespace wam {

// One way to spread the run.
struct StrategyPrediction {
  std::string strategy;
  bool is_of_recipe = false;  // what the recipe asks for
  Spread spread;
  SpreadMemory memory;
  std::int64_t total_bytes = 0;  // on every GPU, activations and encoders included
  StepTraffic traffic;
  std::optional<StepTime> step;  // empty where no rate fits
  double samples_s = 0;          // of the whole run; 0 without `step`
};

struct Prediction {
  Cluster cluster;
  std::string card;
  std::int64_t card_bytes = 0;
  std::int64_t samples_of_gpu = 0;  // of a step, on the GPU that has most
  std::int64_t micro_batch = 0;     // not more than that
  std::int64_t micro_steps = 0;
  std::int64_t activation_bytes = 0;
  std::int64_t encoder_bytes = 0;
  double micro_step_s = 0;  // 0: not known
  std::vector<StrategyPrediction> strategies;
  // Where nothing fits: what memory.first_blocks, recomputed in full, would make the smallest fit;
  // 0: nothing would.
  std::int64_t first_blocks = 0;
  // How compute was found, what was assumed or left out.
  std::vector<std::string> notes;

  [[nodiscard]] bool fits(const StrategyPrediction& strategy) const noexcept {
    return strategy.total_bytes <= card_bytes;
  }
  // Fits, with less than a tenth of the card to spare.
  [[nodiscard]] bool is_tight(const StrategyPrediction& strategy) const noexcept {
    return fits(strategy) && 10 * strategy.total_bytes > 9 * card_bytes;
  }
};

// Allocates nothing, touches no GPU. Errors: ConfigError when the recipe and the cluster contradict
// each other.
Prediction predict(const ResolvedRecipe& recipe, const CardRates& rates, const Cluster& cluster);

// A table of at most 100 columns, and everything as one JSON object.
std::string prediction_text(const Prediction& prediction);
std::string prediction_json(const Prediction& prediction);

}  // namespace wam
