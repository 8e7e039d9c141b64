#include "apps/wamtrain/bench/steps_bench.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>

#include <ATen/ops/zeros.h>

#include "apps/wamtrain/bench/model_work.h"
#include "apps/wamtrain/bench/profiler.h"
#include "apps/wamtrain/bench/step_lines.h"
#include "apps/wamtrain/bench/synthetic.h"
#include "apps/wamtrain/bench/timing.h"
#include "apps/wamtrain/bench/units.h"
#include "apps/wamtrain/datasets.h"
#include "apps/wamtrain/encoders.h"
#include "apps/wamtrain/run_device.h"
#include "apps/wamtrain/training_parts.h"
#include "core/base/errors.h"
#include "core/cuda/device.h"
#include "core/io/hash.h"
#include "core/train/loop.h"
#include "data/tokenizer/tokenizer.h"
#include "models/wam/parameters.h"

namespace wam {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kWarmUpSteps = 3;
constexpr std::int64_t kProfiledSteps = 5;

// The micro-batches of one synthetic global batch, over and over.
class SyntheticSource : public BatchSource {
 public:
  SyntheticSource(const BenchContext& context)
      : global_batch_(context.recipe.train.options.global_batch) {
    const std::int64_t micro = context.recipe.train.options.micro_batch;
    for (std::int64_t first = 0; first < global_batch_; first += micro) {
      Batch batch =
          synthetic_batch(context.recipe.model.config, std::min(micro, global_batch_ - first),
                          context.text_rows(), static_cast<std::uint64_t>(first));
      if (context.device.is_cuda()) pin(batch);
      batches_.push_back(std::move(batch));
    }
  }

  Batch next() override {
    const Batch& batch = batches_[static_cast<std::size_t>(handed_out_ % micro_steps())];
    ++handed_out_;
    return batch;
  }
  [[nodiscard]] std::int64_t micro_steps() const override {
    return static_cast<std::int64_t>(batches_.size());
  }
  [[nodiscard]] std::uint64_t samples_consumed() const override {
    return static_cast<std::uint64_t>(handed_out_ / micro_steps() * global_batch_);
  }
  [[nodiscard]] std::uint64_t epoch_size() const override {
    return static_cast<std::uint64_t>(global_batch_);
  }

 private:
  static void pin(Batch& batch) {
    for (at::Tensor* tensor : {&batch.image_BTHWC, &batch.state_BNS, &batch.action_BPA,
                               &batch.action_mask_BPA, &batch.has_real_action_B, &batch.text_BMD}) {
      *tensor = tensor->pin_memory();
    }
  }

  std::int64_t global_batch_;
  std::vector<Batch> batches_;
  std::int64_t handed_out_ = 0;
};

// The training split of the recipe's datasets as a stream. Lives where it was made: the loader
// refers to its neighbours.
struct DataStream {
  DataStream(const BenchContext& context, std::unique_ptr<TextEmbeddings> embeddings)
      : data(open_data(context.recipe, {}, context.log)),
        text(std::move(embeddings)),
        order(data.splits.training->member_sizes(),
              data.splits.training->member_weights(),
              context.recipe.options.run.seed) {}
  void open(const BenchContext& context) {
    loader.emplace(*data.splits.training, order, *text,
                   loader_options(context.recipe, context.device, 0, {}));
  }

  OpenedData data;
  std::unique_ptr<TextEmbeddings> text;
  SampleOrder order;
  std::optional<Loader> loader;
};

// For the loader alone, which needs no real text.
class EmptyText : public TextEmbeddings {
 public:
  explicit EmptyText(std::int64_t width) : rows_(at::zeros({kRows, width}, at::kBFloat16)) {}
  [[nodiscard]] at::Tensor rows(const std::string& /*prompt*/) const override { return rows_; }
  [[nodiscard]] std::int64_t width() const override { return rows_.size(1); }

 private:
  static constexpr std::int64_t kRows = 24;
  at::Tensor rows_;
};

class StepsBench {
 public:
  StepsBench(const BenchContext& context, FrozenEncoders& encoders)
      : context_(context),
        clock_(context.device),
        model_(make_model(context.recipe, context.device, encoders, clock_)),
        units_(make_bench_units(model_->units(),
                                {.device = context.device,
                                 .compute_type = context.type,
                                 .state = HoldsState::kYes,
                                 .state_on_host = offloads_state(context.recipe),
                                 .assume_world = context.options.assume_world.value_or(1)})),
        optimizer_(make_optimizer(context.recipe, context.device, *units_)),
        metrics_(scratch_.path()) {}

  BenchResult run(BatchSource& source, const std::string& title) {
    const std::int64_t steps = context_.options.steps;
    context_.log.info("warming up");
    // With graphs, activations are allocated while they are recorded: in the first steps.
    reset_peak_memory(context_.device);
    loop(source, kWarmUpSteps);
    context_.log.info(fmt::format("timing {} steps", steps));
    const auto start = Clock::now();
    loop(source, steps);
    const double wall_s = std::chrono::duration<double>(Clock::now() - start).count();

    BenchResult out;
    out.title = title;
    out.settings = model_settings(context_);
    if (context_.options.what == BenchWhat::kLoop) {
      std::erase_if(out.settings, [](const auto& setting) { return setting.first == "text_rows"; });
      out.settings.emplace_back("text", "of the dataset");
    }
    out.settings.emplace_back("global_batch",
                              std::to_string(context_.recipe.train.options.global_batch));
    add_figures(out, wall_s);
    if (!context_.options.phases) return out;
    const std::int64_t profiled_steps = std::min(kProfiledSteps, steps);
    const Timeline timeline =
        profiled(context_.device, context_.options.profile, [&] { loop(source, profiled_steps); });
    add_timeline(out, context_, timeline, profiled_steps);
    return out;
  }

 private:
  // So many steps more; the device is idle before and after.
  void loop(BatchSource& source, std::int64_t steps) {
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
                          .save = [](std::int64_t) {}};
    LoopOptions options = loop_options(context_.recipe, context_.device);
    options.steps = done_ + steps;
    options.checkpoint_every = 0;
    options.checkpoint_at_end = false;
    options.validate_every = 0;
    const LoopEnd end = run_loop(parts, options, done_);
    require<Error>(end == LoopEnd::kFinished, "benchmark: ended, {}.",
                   context_.ranks.stop().reason());
    done_ += steps;
  }

  void add_figures(BenchResult& out, double wall_s) const {
    const auto lines = read_step_lines(scratch_.path());
    std::vector<double> step_s;
    double wait_s = 0;
    std::int64_t skipped = 0;
    for (std::size_t i = kWarmUpSteps; i < lines.size(); ++i) {
      step_s.push_back(lines[i].step_s);
      wait_s += lines[i].data_wait_s;
      skipped += lines[i].skipped ? 1 : 0;
    }
    const auto steps = static_cast<double>(step_s.size());
    const auto samples = static_cast<double>(context_.recipe.train.options.global_batch);
    const double rate = steps * samples / wall_s;
    const auto ratio =
        share_of(rate * tflop_a_sample(), context_.ceilings, &Ceilings::matmul_tflops);
    out.step_ms = 1e3 * median(step_s);
    out.figures = {
        {"samples_s", fmt::format("rate over {} steps", step_s.size()), rate, "samples/s", ratio},
        {"ms", "a step, median", out.step_ms, "ms", {}},
        {"data_share", "nothing to do until data came", wait_s / wall_s, "share", {}},
        {"peak_bytes",
         "peak memory",
         static_cast<double>(peak_memory_bytes(context_.device)),
         "bytes",
         {}}};
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
  ScratchFile scratch_;
  StepClock clock_;
  std::unique_ptr<WamModel> model_;
  std::unique_ptr<Sharding> units_;
  std::unique_ptr<AdamW> optimizer_;
  MetricsFile metrics_;
  std::int64_t done_ = 0;
};

FrozenPlacement placement_of(const BenchContext& context) {
  return {.device = context.device, .type = context.type};
}

}  // namespace

BenchResult bench_step(const BenchContext& context) {
  const auto encoders = load_encoders(context.recipe, placement_of(context), context.log);
  SyntheticSource source(context);
  return StepsBench(context, *encoders)
      .run(source, "training step on a synthetic batch: encoders, transformer, optimizer");
}

BenchResult bench_loop(const BenchContext& context) {
  DataStream stream(context, nullptr);
  const Tokenizer tokenizer(context.recipe.options.model.components.tokenizer);
  const FrozenPart text = text_part(context.recipe, tokenizer.vocabulary_size());
  stream.text = prepare_text(context.recipe, stream.data.splits.training->prompts(),
                             hash_hex(frozen_fingerprint(text.model, text.source)),
                             placement_of(context), context.log);
  const auto encoders = load_encoders(context.recipe, placement_of(context), context.log);
  stream.open(context);
  return StepsBench(context, *encoders)
      .run(*stream.loader, "training loop on a dataset: loader, encoders, transformer, optimizer");
}

BenchResult bench_data(const BenchContext& context) {
  DataStream stream(context, std::make_unique<EmptyText>(context.recipe.model.config.text_width));
  stream.open(context);
  const auto read = [&](std::int64_t steps) {
    for (std::int64_t i = 0; i < steps * stream.loader->micro_steps(); ++i) stream.loader->next();
  };
  context.log.info("warming up");
  read(kWarmUpSteps);
  context.log.info(fmt::format("timing {} global batches", context.options.steps));
  const auto start = Clock::now();
  read(context.options.steps);
  const double wall_s = std::chrono::duration<double>(Clock::now() - start).count();

  const Recipe& recipe = context.recipe.options;
  const auto samples = static_cast<double>(context.options.steps * recipe.train.global_batch);
  BenchResult out;
  out.title = "loader: decoding, transforms, batches in host memory";
  out.settings = {{"workers", std::to_string(context.recipe.data.workers)},
                  {"prefetch", std::to_string(recipe.data.prefetch)},
                  {"micro_batch", std::to_string(recipe.train.micro_batch)},
                  {"global_batch", std::to_string(recipe.train.global_batch)}};
  out.figures = {{"samples_s", "rate", samples / wall_s, "samples/s", {}},
                 {"ms", "a sample, of all workers together", 1e3 * wall_s / samples, "ms", {}}};
  return out;
}

}  // namespace wam
