#include "apps/wamtrain/bench/steps_bench.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>

#include "apps/wamtrain/bench/communication.h"
#include "apps/wamtrain/bench/data_stream.h"
#include "apps/wamtrain/bench/model_work.h"
#include "apps/wamtrain/bench/profiler.h"
#include "apps/wamtrain/bench/step_inputs.h"
#include "apps/wamtrain/bench/step_lines.h"
#include "apps/wamtrain/bench/timing.h"
#include "apps/wamtrain/bench/units.h"
#include "apps/wamtrain/encoders.h"
#include "apps/wamtrain/prompt_texts.h"
#include "apps/wamtrain/run_device.h"
#include "apps/wamtrain/training_parts.h"
#include "core/base/errors.h"
#include "core/cuda/device.h"
#include "core/io/hash.h"
#include "core/train/checkpoint_writer.h"
#include "core/train/loop.h"
#include "data/tokenizer/tokenizer.h"
#include "models/wam/parameters.h"

namespace wam {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kWarmUpSteps = 2;  // the first records the graphs
constexpr std::int64_t kProfiledSteps = 5;

class StepsBench {
 public:
  StepsBench(const BenchContext& context, FrozenEncoders& encoders, const BenchMesh& mesh)
      : context_(context),
        mesh_(mesh),
        clock_(context.device),
        model_(make_model(
            context.recipe, context.device, encoders, clock_, context.ranks.graph_observer())),
        units_(make_bench_units(model_->units(), context.units(HoldsState::kYes, mesh))),
        optimizer_(make_optimizer(
            context.recipe, context.device, *units_, context.ranks.graph_observer())),
        metrics_(scratch_.path()) {}

  // Some steps that warm up, then the timed ones; what these cost.
  StepCost time(BatchSource& source) {
    const std::int64_t steps = context_.options.steps;
    context_.log.info("warming up");
    // With graphs, activations are allocated while they are recorded: in the first steps.
    reset_peak_memory(context_.device);
    loop(source, kWarmUpSteps);
    context_.log.info(fmt::format("timing {} steps", steps));
    const auto start = Clock::now();
    loop(source, steps);
    wall_s_ = std::chrono::duration<double>(Clock::now() - start).count();
    std::vector<double> compute_s;
    std::vector<double> step_s;
    for (const StepLine& line : timed_lines()) {
      compute_s.push_back(line.times.forward_backward_s);
      step_s.push_back(line.times.step_s);
    }
    return {.step_s = median(step_s), .compute_s = median(compute_s)};
  }

  BenchResult run(BatchSource& source, const std::string& title) {
    const StepCost cost = time(source);
    const std::int64_t steps = context_.options.steps;
    BenchResult out;
    out.title = title;
    out.settings = model_settings(context_);
    if (context_.options.what == BenchWhat::kLoop) {
      std::erase_if(out.settings, [](const auto& setting) { return setting.first == "text_rows"; });
      out.settings.emplace_back("text", "of the dataset");
    }
    out.settings.emplace_back("global_batch",
                              std::to_string(context_.recipe.train.options.global_batch));
    out.step_ms = 1e3 * cost.step_s;
    add_figures(out);
    if (!context_.options.save_to.empty()) {
      add_saved_step(out, source);
    }
    if (!context_.options.phases) return out;
    const std::int64_t profiled_steps = std::min(kProfiledSteps, steps);
    const Timeline timeline =
        profiled(context_.device, context_.options.profile, [&] { loop(source, profiled_steps); });
    add_timeline(out, context_, timeline, profiled_steps);
    return out;
  }

 private:
  static constexpr std::int64_t kStepsToSave = 2;
  static constexpr std::int64_t kStepsWithSave = 5;

  // What a save does to the step after it, among some others. The checkpoint is removed again.
  void add_saved_step(BenchResult& out, BatchSource& source) {
    const StepTimes times = saved_step(source);
    const auto add = [&](const char* name, const char* title, double seconds) {
      out.figures.push_back({name, title, 1e3 * seconds, "ms", {}});
    };
    add("checkpoint_stall_ms", "what a save adds to the step after it",
        times.step_s - 1e-3 * out.step_ms);
    add("checkpoint_wait_ms", "of it, the device's wait for the copy", times.checkpoint_s);
    add("save_host_ms", "host time to start a save", save_host_s_);
  }

  StepTimes saved_step(BatchSource& source) {
    const auto& folder = context_.options.save_to;
    Ranks& ranks = context_.ranks;
    ranks.first_does([&] {
      require<ConfigError>(
          !std::filesystem::exists(folder),
          "--save-to {}: it exists, and what is saved there is removed afterwards. "
          "Fix: name a folder that is not there.",
          folder.string());
    });
    context_.log.info("saving once");
    Log quiet({.console = false, .file = ""});
    const auto after = static_cast<std::size_t>(done_ + kStepsToSave);
    {
      CheckpointWriter writer({.folder = folder,
                               .writes = ranks.env().global_rank < mesh_.layout.shard_ranks,
                               .in_place = offloads_state(context_.recipe),
                               .exchange = ranks.exchange(),
                               .moved = [&ranks] { ranks.moved(); }},
                              units_->units(), quiet);
      writer.wait();  // for its memory
      loop(source, kStepsWithSave, &writer);
      writer.wait();
    }
    ranks.first_does([&] { std::filesystem::remove_all(folder); });
    return read_step_lines(scratch_.path()).at(after).times;
  }

  void save(CheckpointWriter& writer, std::int64_t step) {
    RunState state;
    state.step = step;
    state.applied_updates = optimizer_->applied_updates();
    state.global_batch = context_.recipe.train.options.global_batch;
    state.world_size = context_.ranks.env().world_size;
    state.recipe = context_.recipe.dump();
    state.recipe_hash = context_.recipe.hash();
    const auto start = Clock::now();
    writer.save(std::move(state));
    save_host_s_ = std::chrono::duration<double>(Clock::now() - start).count();
  }

  // So many steps more; the device is idle before and after. With a writer: saves once.
  void loop(BatchSource& source, std::int64_t steps, CheckpointWriter* writer = nullptr) {
    Log quiet({.console = false, .file = ""});
    const LoopParts parts{.model = *model_,
                          .sharding = *units_,
                          .optimizer = *optimizer_,
                          .source = source,
                          .metrics = &metrics_,
                          .log = quiet,
                          .stop = context_.ranks.stop(),
                          .clock = clock_,
                          .observer = nullptr,
                          .validator = nullptr,
                          .bad_windows = nullptr,
                          .save = [&](std::int64_t step) { save(*writer, step); },
                          .before_update =
                              [&] {
                                if (writer != nullptr) writer->before_update();
                              }};
    LoopOptions options = loop_options(context_.recipe, context_.device, context_.ranks.env());
    options.steps = done_ + steps;
    options.checkpoint_every = writer != nullptr ? done_ + kStepsToSave : 0;
    options.checkpoint_at_end = false;
    options.validate_every = 0;
    const LoopEnd end = run_loop(parts, options, done_);
    require<Error>(end == LoopEnd::kFinished, "benchmark: ended, {}.",
                   context_.ranks.stop().reason());
    done_ += steps;
  }

  [[nodiscard]] std::vector<StepLine> timed_lines() const {
    auto lines = read_step_lines(scratch_.path());
    lines.erase(lines.begin(), lines.begin() + kWarmUpSteps);
    return lines;
  }

  // Where the time of the timed steps went, as a run's metrics have it.
  void add_parts(BenchResult& out, const std::vector<StepLine>& lines) const {
    const auto add = [&](const char* name, double StepTimes::*part) {
      double seconds = 0;
      for (const StepLine& line : lines) seconds += line.times.*part;
      if (seconds == 0) return;
      out.phases.push_back({name, 1e3 * seconds / static_cast<double>(lines.size()), {}, {}});
    };
    add("forward + backward", &StepTimes::forward_backward_s);
    add("encoders", &StepTimes::encode_s);
    add("update", &StepTimes::update_s);
    add("waits: gather", &StepTimes::exposed_gather_s);
    add("waits: reduce", &StepTimes::exposed_reduce_s);
    add("waits: data", &StepTimes::data_wait_s);
    add("rest of the step", &StepTimes::other_s);
  }

  void add_figures(BenchResult& out) const {
    const auto lines = timed_lines();
    double data_s = 0;
    double others_s = 0;
    std::int64_t skipped = 0;
    for (const StepLine& line : lines) {
      data_s += line.times.data_wait_s;
      others_s += line.times.exposed_gather_s + line.times.exposed_reduce_s;
      skipped += line.skipped ? 1 : 0;
    }
    const auto steps = static_cast<double>(lines.size());
    const auto samples = static_cast<double>(context_.recipe.train.options.global_batch);
    const double rate = steps * samples / wall_s_;
    const double rate_of_card = rate / context_.ranks.env().world_size;
    const auto ratio =
        share_of(rate_of_card * tflop_a_sample(), context_.ceilings, &Ceilings::matmul_tflops);
    out.figures = {
        {"samples_s", fmt::format("rate over {} steps", lines.size()), rate, "samples/s", ratio},
        {"ms", "a step, median", out.step_ms, "ms", {}},
        {"data_share", "nothing to do until data came", data_s / wall_s_, "share", {}},
        {"wait_share", "streams waited for other ranks", others_s / wall_s_, "share", {}},
        {"peak_bytes",
         "peak memory",
         static_cast<double>(peak_memory_bytes(context_.device)),
         "bytes",
         {}}};
    add_parts(out, lines);
    if (skipped > 0) {
      out.notes.push_back(fmt::format("{} updates were not finite and skipped.", skipped));
    }
  }

  // Of the transformer, at full text: what the ratio counts.
  [[nodiscard]] double tflop_a_sample() const {
    const WamConfig& config = context_.recipe.model.config;
    const MicroBatchShape shape{.samples = 1,
                                .blocks = config.max_blocks,
                                .text_rows = context_.text_rows(),
                                .compute_type = context_.type};
    return 1e-12 * model_work(config, shape, {}).flops;
  }

  const BenchContext& context_;
  const BenchMesh& mesh_;
  ScratchFile scratch_;
  StepClock clock_;
  std::unique_ptr<WamModel> model_;
  std::unique_ptr<Sharding> units_;
  std::unique_ptr<AdamW> optimizer_;
  MetricsFile metrics_;
  std::int64_t done_ = 0;
  double wall_s_ = 0;
  double save_host_s_ = 0;
};

FrozenPlacement placement_of(const BenchContext& context) {
  return {.device = context.device, .type = context.type};
}

// Ranks record graphs together, so their micro-batches must be alike.
void check_batch(const BenchContext& context) {
  const std::int64_t batch = context.recipe.train.options.global_batch;
  const int world = context.ranks.env().world_size;
  require<ConfigError>(
      batch % world == 0,
      "train.global_batch: {} samples do not divide into {} equal parts. Fix: set a "
      "multiple of {}.",
      batch, world, world);
}

}  // namespace

BenchResult bench_step(const BenchContext& context) {
  check_batch(context);
  const auto encoders = make_step_encoders(context);
  const auto source = make_synthetic_source(context);
  const std::string title =
      context.encodes() ? "training step on a synthetic batch: encoders, transformer, optimizer"
                        : "training step on a synthetic batch: transformer, optimizer";
  BenchResult out = StepsBench(context, *encoders, context.mesh).run(*source, title);
  add_communication(out, context, {.step_s = 1e-3 * out.step_ms}, [&](const BenchMesh& mesh) {
    return StepsBench(context, *encoders, mesh).time(*source);
  });
  return out;
}

BenchResult bench_loop(const BenchContext& context) {
  DataStream stream(context, nullptr);
  const Tokenizer tokenizer(context.recipe.options.model.components.tokenizer);
  const FrozenPart text = text_part(context.recipe, tokenizer.vocabulary_size());
  auto texts = std::make_unique<PromptTexts>(context.recipe,
                                             hash_hex(frozen_fingerprint(text.model, text.source)),
                                             placement_of(context), context.log);
  texts->prepare(stream.data.splits.training->prompts());
  stream.text = std::move(texts);
  const auto encoders = load_encoders_to_train(context.recipe, placement_of(context), context.log);
  stream.open(context);
  return StepsBench(context, *encoders, context.mesh)
      .run(*stream.loader,
           context.encodes()
               ? "training loop on a dataset: loader, encoders, transformer, optimizer"
               : "training loop on a dataset: loader of cached latents, transformer, optimizer");
}

}  // namespace wam
