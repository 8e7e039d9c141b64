#include "apps/wamtrain/bench/save_rates.h"

#include <algorithm>
#include <cmath>

#include "apps/wamtrain/install.h"
#include "apps/wamtrain/rates/card_rates.h"
#include "apps/wamtrain/run_device.h"
#include "core/base/errors.h"
#include "models/wam/flops.h"

namespace wam {
namespace {

double rounded(double value, double step) {
  return std::round(value / step) * step;
}

// 0 where it was not measured.
double figure_or_zero(const BenchResult& result, const std::string& name) {
  const auto found = std::find_if(result.figures.begin(), result.figures.end(),
                                  [&](const Figure& f) { return f.name == name; });
  return found == result.figures.end() ? 0 : rounded(found->value, 1e-2);
}

Rate rate_of(const BenchResult& result, const std::string& figure, const std::string& source) {
  return {.value = rounded(result.figure(figure).value, 1e-3), .source = source};
}

CardRates rates_of(const std::filesystem::path& file, const BenchOrigin& origin) {
  CardRates rates;
  rates.card = origin.card;
  if (std::filesystem::exists(file)) rates = load_rates(file);
  require<ConfigError>(rates.card == origin.card,
                       "--save {}: it holds the rates of {}, and this is {}. Fix: name another "
                       "file.",
                       file.string(), rates.card, origin.card);
  rates.memory_gib = rounded(static_cast<double>(origin.memory_bytes) / std::pow(1024.0, 3), 0.1);
  return rates;
}

MicroStepRate micro_step_rate(const ResolvedRecipe& recipe,
                              const BenchResult& result,
                              const std::string& source) {
  const WamConfig& config = recipe.model.config;
  const RecomputePlan plan = recipe.options.memory.plan();
  return {.model = config.preset,
          .forward_tflop = 1e-12 * forward_flops(config, config.max_blocks),
          .micro_batch = recipe.train.options.micro_batch,
          .recompute = plan.policy,
          .first_blocks = plan.first_blocks,
          .first_recompute = plan.first_policy,
          .compute = recipe.options.precision.compute,
          .ms = result.figure("ms").value,
          .forward_ms = result.figure("forward_ms").value,
          .source = source};
}

EncoderRate encoder_rate(const ResolvedRecipe& recipe,
                         const BenchOptions& options,
                         const BenchResult& result,
                         const std::string& source) {
  const WamConfig& c = recipe.model.config;
  return {.model = c.preset,
          .clip_megapixels =
              1e-6 * static_cast<double>(c.clip_frames() * c.target_height * c.target_width),
          .clips = options.clips.value_or(recipe.train.options.micro_batch),
          .video_ms = figure_or_zero(result, "ms"),
          .first_frame_ms = figure_or_zero(result, "first_frame_ms"),
          .image_ms = figure_or_zero(result, "image_ms"),
          .source = source};
}

}  // namespace

std::filesystem::path save_rates(const ResolvedRecipe& recipe,
                                 const BenchOptions& options,
                                 const BenchResult& result,
                                 const BenchOrigin& origin) {
  const auto file = options.rates.empty()
                        ? configs_folder() / "rates" / rates_file_name(origin.card)
                        : options.rates;
  CardRates rates = rates_of(file, origin);
  const std::string source = fmt::format("{}, commit {}", origin.command, origin.commit);
  if (options.what == BenchWhat::kModel) put(rates, micro_step_rate(recipe, result, source));
  if (options.what == BenchWhat::kEncoders) {
    put(rates, encoder_rate(recipe, options, result, source));
  }
  if (options.what == BenchWhat::kOptimizer) {
    const double tb_s = result.figure("tb_s").value;
    if (offloads_state(recipe)) {
      rates.host_optimizer_gb_s = {.value = 1e3 * tb_s, .source = source};
    } else {
      rates.optimizer_tb_s = {.value = tb_s, .source = source};
    }
  }
  if (options.what == BenchWhat::kComm) {
    rates.all_gather_gb_s = rate_of(result, "all_gather_gb_s", source);
    rates.reduce_scatter_gb_s = rate_of(result, "reduce_scatter_gb_s", source);
    rates.all_reduce_gb_s = rate_of(result, "all_reduce_gb_s", source);
  }
  if (origin.ceilings) {
    rates.matmul_tflops = {.value = origin.ceilings->matmul_tflops, .source = source};
    rates.copy_tb_s = {.value = origin.ceilings->copy_tb_s, .source = source};
  }
  save_rates(rates, file);
  return file;
}

}  // namespace wam
