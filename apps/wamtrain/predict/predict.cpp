#include "apps/wamtrain/predict/predict.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <utility>

#include "apps/wamtrain/latents.h"
#include "apps/wamtrain/plan.h"
#include "apps/wamtrain/predict/compute_time.h"
#include "apps/wamtrain/predict/needed_rates.h"
#include "apps/wamtrain/run_device.h"
#include "core/base/errors.h"
#include "core/base/names.h"
#include "models/wam/flops.h"
#include "models/wam/memory.h"
#include "models/wam/parameters.h"
#include "parallel/strategies/layout.h"

namespace wam {
namespace {

std::int64_t divided_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

class Predictor {
 public:
  Predictor(const ResolvedRecipe& recipe, const CardRates& rates, const Cluster& cluster)
      : recipe_(recipe), config_(recipe.model.config), rates_(rates), cluster_(cluster) {
    const auto& train = recipe.train.options;
    out_.cluster = cluster;
    out_.card = rates.card;
    out_.card_bytes = static_cast<std::int64_t>(rates.memory_gib * 1024 * 1024 * 1024);
    out_.samples_of_gpu = divided_up(train.global_batch, cluster.gpus);
    out_.micro_batch = std::min(train.micro_batch, out_.samples_of_gpu);
    out_.micro_steps = divided_up(out_.samples_of_gpu, out_.micro_batch);
    out_.encoder_bytes = plan_memory(recipe).encoder_bytes;
    out_.activation_bytes =
        activation_bytes(config_, shape_of(out_.micro_batch), recipe.options.memory.plan());
  }

  Prediction run() {
    predict_compute();
    predict_encoders();
    add_strategies();
    find_first_blocks();
    add_notes();
    return std::move(out_);
  }

 private:
  [[nodiscard]] MicroBatchShape shape_of(std::int64_t samples) const {
    return {.samples = samples,
            .blocks = config_.max_blocks,
            .text_rows = config_.text_length,
            .compute_type = compute_type(recipe_)};
  }

  // All micro-steps; the last may be smaller.
  void predict_compute() {
    const auto times_of = [&](std::int64_t samples) {
      return micro_step_times(rates_, config_, shape_of(samples), recipe_.options.memory.plan());
    };
    const auto whole = times_of(out_.micro_batch);
    if (!whole) {
      out_.notes.push_back(fmt::format("No time: no micro-step in {} was measured on this card.",
                                       name_of(recipe_.options.precision.compute)));
      return;
    }
    out_.micro_step_s = whole->total_s();
    out_.notes.push_back(fmt::format("Forward and backward of a micro-batch of {}: {:.1f} ms, {}.",
                                     out_.micro_batch, 1e3 * whole->total_s(), whole->basis));
    const std::int64_t rest = out_.samples_of_gpu % out_.micro_batch;
    const auto last = rest == 0 ? whole : times_of(rest);
    const auto others = static_cast<double>(out_.micro_steps - 1);
    forward_s_ = (others * whole->forward_s + last->forward_s) / (others + 1);
    backward_s_ = (others * whole->backward_s + last->backward_s) / (others + 1);
  }

  // Proportional to the clips, from the case with the nearest number of them.
  void predict_encoders() {
    if (caches_latents(recipe_)) {
      out_.notes.emplace_back("Encoders: none, since data.latents is cached.");
      return;
    }
    const EncoderRate* nearest = nullptr;
    const auto distance = [&](const EncoderRate& row) {
      return std::abs(row.clips - out_.micro_batch);
    };
    for (const EncoderRate& row : rates_.encoders) {
      if (row.model != config_.preset) continue;
      if (nearest == nullptr || distance(row) < distance(*nearest)) nearest = &row;
    }
    if (nearest == nullptr) {
      out_.notes.emplace_back("Encoders: not measured for this model, so left out.");
      return;
    }
    const double ms = nearest->video_ms + nearest->first_frame_ms + nearest->image_ms;
    const double megapixels =
        1e-6 *
        static_cast<double>(config_.clip_frames() * config_.target_height * config_.target_width);
    const double scale = megapixels / nearest->clip_megapixels;
    encoders_s_ = 1e-3 * ms * scale * static_cast<double>(out_.samples_of_gpu) /
                  static_cast<double>(nearest->clips);
    out_.notes.push_back(fmt::format("Encoders: {:.1f} ms a step, from {} clips at once{}.",
                                     1e3 * encoders_s_, nearest->clips,
                                     nearest->image_ms > 0 ? "" : ", without the image encoder"));
  }

  [[nodiscard]] std::vector<UnitLoad> loads() const {
    const auto flops = unit_forward_flops(config_, config_.max_blocks);
    const double all = forward_flops(config_, config_.max_blocks);
    const auto units = wam_units(config_);
    std::vector<UnitLoad> out = unit_loads(units);
    for (std::size_t i = 0; i < units.size(); ++i) {
      const double share = flops[i] / all;
      out[i].forward_s = share * forward_s_;
      out[i].backward_s = share * backward_s_;
    }
    return out;
  }

  // Every strategy, with gradients reduced at the last micro-step or at each. A strategy that comes
  // out as an earlier one (anything on one GPU, a hybrid of one group) is left out.
  void add_strategies() {
    std::set<std::pair<int, bool>> seen;
    for (const auto& [strategy, name] : EnumNames<ShardingStrategy>::table) {
      const Layout layout = layout_for(strategy, Offload::kNone);
      const bool is_whole = layout.shard_ranks == 1;
      if (!seen.emplace(layout.shard_ranks, layout.shards_weights && !is_whole).second) continue;
      add_offloads(strategy, ReduceTime::kLast);
      // Without shards, reducing each time would save nothing.
      if (!is_whole) add_offloads(strategy, ReduceTime::kEach);
    }
  }

  // On the GPU; what does not fit there, also with more and more in host memory; and at least as
  // the recipe offloads.
  void add_offloads(ShardingStrategy strategy, ReduceTime reduce) {
    const Offload own = recipe_.options.parallel.offload;
    bool fits = false;
    for (const auto& [offload, name] : EnumNames<Offload>::table) {
      if (fits && offload > own) break;
      // It is full_shard then.
      if (strategy == ShardingStrategy::kShardGradOp && offload == Offload::kOptimizerAndParams) {
        break;
      }
      add(strategy, spread_of(layout_for(strategy, offload), reduce, offload));
      fits |= out_.fits(out_.strategies.back());
    }
  }

  // Errors: ConfigError when groups and nodes do not go together.
  [[nodiscard]] Spread spread_of(const Layout& layout, ReduceTime reduce, Offload offload) const {
    const Spread out{
        .gpus = cluster_.gpus,
        .nodes = cluster_.nodes,
        .shard_size = layout.shard_ranks,
        .shards_weights = layout.shards_weights,
        .reduces_each = reduce == ReduceTime::kEach,
        .state_on_host = offload != Offload::kNone,
        .weights_on_host = layout.weights_on_host,
        .compute_bytes = static_cast<std::int64_t>(c10::elementSize(compute_type(recipe_))),
        .reduce_bytes = recipe_.options.parallel.reduce_dtype == ReduceType::kBf16 ? 2 : 4};
    const auto problems = problems_of(out);
    if (!problems.empty()) throw ConfigError("parallel.shard_size: " + join(problems));
    return out;
  }

  [[nodiscard]] Layout layout_for(ShardingStrategy strategy, Offload offload) const {
    ParallelSection section = recipe_.options.parallel;
    section.strategy = strategy;
    section.offload = offload;
    return layout_of(section, static_cast<int>(cluster_.gpus),
                     static_cast<int>(cluster_.gpus / cluster_.nodes));
  }

  [[nodiscard]] bool is_of_recipe(const Spread& spread) const {
    const ParallelSection& own = recipe_.options.parallel;
    const Layout layout = layout_for(own.strategy, own.offload);
    if (spread.shard_size != layout.shard_ranks) return false;
    if (spread.state_on_host != offloads_state(recipe_)) return false;
    if (spread.weights_on_host != layout.weights_on_host) return false;
    return spread.shard_size == 1 || (spread.shards_weights == layout.shards_weights &&
                                      spread.reduces_each == (own.reduce == ReduceTime::kEach));
  }

  void add(ShardingStrategy strategy, const Spread& spread) {
    const auto units = loads();
    StrategyPrediction one;
    one.strategy = name_of(strategy);
    one.is_of_recipe = is_of_recipe(spread);
    one.spread = spread;
    one.memory = memory_of(units, spread);
    one.total_bytes = one.memory.weights + one.memory.gradients + one.memory.optimizer +
                      out_.activation_bytes + out_.encoder_bytes;
    one.traffic = traffic_of(units, spread, out_.micro_steps);
    if (out_.micro_step_s > 0 && all_known(spread)) {
      one.step = step_time(rates_, units, spread,
                           {.micro_steps = out_.micro_steps,
                            .encoders_s = encoders_s_,
                            .node_gb_s = cluster_.link_gb_s.value_or(0)});
      one.samples_s = static_cast<double>(recipe_.train.options.global_batch) / one.step->total_s();
    }
    out_.strategies.push_back(std::move(one));
  }

  // Remembers what is not, and what is assumed, for the notes.
  bool all_known(const Spread& spread) {
    bool known = true;
    for (const auto& [name, rate] : rates_needed(spread)) {
      if ((rates_.*rate).assumed) assumed_.insert(name);
      if ((rates_.*rate).value > 0) continue;
      unknown_.insert(name);
      known = false;
    }
    return known;
  }

  // Where nothing fits: the fewest first blocks whose recomputation makes the smallest fit.
  void find_first_blocks() {
    const auto smallest = std::min_element(
        out_.strategies.begin(), out_.strategies.end(),
        [](const auto& a, const auto& b) { return a.total_bytes < b.total_bytes; });
    if (out_.fits(*smallest)) return;
    RecomputePlan plan = recipe_.options.memory.plan();
    plan.first_policy = RecomputePolicy::kFull;
    const std::int64_t others = smallest->total_bytes - out_.activation_bytes;
    for (std::int64_t blocks = plan.first_blocks + 1; blocks <= config_.layers; ++blocks) {
      plan.first_blocks = blocks;
      const auto needed = activation_bytes(config_, shape_of(out_.micro_batch), plan);
      if (others + needed > out_.card_bytes) continue;
      out_.first_blocks = blocks;
      return;
    }
  }

  void add_notes() {
    if (out_.samples_of_gpu < recipe_.train.options.micro_batch) {
      out_.notes.push_back(
          fmt::format("train.micro_batch {} is more than a GPU's part of the global batch of {}.",
                      recipe_.train.options.micro_batch, recipe_.train.options.global_batch));
    }
    if (recipe_.train.options.global_batch < cluster_.gpus) {
      out_.notes.push_back(fmt::format("The global batch of {} leaves {} GPUs without a sample.",
                                       recipe_.train.options.global_batch,
                                       cluster_.gpus - recipe_.train.options.global_batch));
    }
    const auto say = [&](const std::set<std::string>& names, const char* text) {
      if (!names.empty()) out_.notes.push_back(text + join({names.begin(), names.end()}) + ".");
    };
    say(unknown_, "No time where the rates file does not know: ");
    say(assumed_, "Assumed, not measured: ");
  }

  const ResolvedRecipe& recipe_;
  const WamConfig& config_;
  const CardRates& rates_;
  Cluster cluster_;
  double forward_s_ = 0;  // of a micro-step, the mean of all
  double backward_s_ = 0;
  double encoders_s_ = 0;  // of a step
  std::set<std::string> unknown_;
  std::set<std::string> assumed_;
  Prediction out_;
};

}  // namespace

Prediction predict(const ResolvedRecipe& recipe, const CardRates& rates, const Cluster& cluster) {
  check(cluster);
  return Predictor(recipe, rates, cluster).run();
}

}  // namespace wam
