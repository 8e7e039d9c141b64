#include "apps/wamtrain/runtime.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "apps/wamtrain/datasets.h"
#include "apps/wamtrain/encoders.h"
#include "apps/wamtrain/initial_weights.h"
#include "apps/wamtrain/plan.h"
#include "apps/wamtrain/run_device.h"
#include "apps/wamtrain/run_identity.h"
#include "apps/wamtrain/run_start.h"
#include "apps/wamtrain/training_parts.h"
#include "apps/wamtrain/version.h"
#include "core/base/errors.h"
#include "core/base/format.h"
#include "core/base/log.h"
#include "core/base/names.h"
#include "core/cuda/device.h"
#include "core/io/atomic_file.h"
#include "core/io/disk.h"
#include "core/train/attempts.h"
#include "core/train/checkpoint_writer.h"
#include "core/train/loop.h"
#include "core/train/run_folder.h"
#include "data/loader/loader.h"
#include "models/wam/memory.h"
#include "models/wam/wam_model.h"

namespace wam {
namespace {

// Names the generator of core/random in checkpoints; another one would draw other numbers.
constexpr const char* kGenerator = "philox4x32-10";

// A run and everything it owns. Members stand in the order in which they are built; they go in the
// opposite order.
class Run {
 public:
  Run(const ResolvedRecipe& recipe, Log& log)
      : recipe_(recipe), log_(log), device_(resolve_device(recipe)) {}

  int train(AttemptRecord& attempts) {
    read_inputs();
    note_attempt(attempts);
    build_model();
    start_from();
    const LoopEnd end = loop();
    writer_->wait();
    say_end(end);
    return 0;
  }

 private:
  // Everything that may refuse the run comes before anything is written or allocated.
  void read_inputs() {
    log_.info(fmt::format("{}, recipe {} ({})", version_line(), recipe_.source, recipe_.hash()));
    start_ = find_start(recipe_, log_);
    data_ = open_data(recipe_, saved_statistics(), log_);
    frozen_ = frozen_origins(recipe_);
    facts_ = export_facts_json(export_facts(recipe_, data_.statistics));
    if (start_) check_same_run(start_->manifest().run);
    write_file_atomically(recipe_.options.run.dir / "recipe.yaml", recipe_.dump());
    write_metadata(statistics_file(recipe_), data_.statistics);
  }

  // What may refuse a recipe is behind: from here on an end without progress is a crash.
  void note_attempt(AttemptRecord& attempts) const {
    const std::int64_t step = start_ ? start_->manifest().run.step : 0;
    const auto before = attempts.begin(step, recipe_.hash(), recipe_.options.run.max_crashes);
    if (before == 0) return;
    log_.info(fmt::format("starts from step {} that crashed, in a row: {} (run.max_crashes: {})",
                          step, before, recipe_.options.run.max_crashes));
  }

  [[nodiscard]] std::map<std::string, Statistics> saved_statistics() const {
    if (!start_) return {};
    const std::string where = start_->folder().string();
    const ExportFacts facts = parse_export_facts(start_->manifest().run.extra, where);
    return parse_metadata(facts.metadata, where);
  }

  [[nodiscard]] std::vector<std::string> prompts() const {
    std::vector<std::string> all = data_.splits.training->prompts();
    if (data_.splits.held_back) {
      const auto more = data_.splits.held_back->prompts();
      all.insert(all.end(), more.begin(), more.end());
    }
    return all;
  }

  void build_model() {
    prepare_device({.device = device_,
                    .cpu_threads = static_cast<int>(recipe_.threads),
                    .deterministic = recipe_.options.precision.deterministic});
    log_.info("device: " + describe_device(device_));
    if (uses_graphs(recipe_, device_))
      log_.info(offloads_state(recipe_) ? "CUDA graphs: a replay a micro-step"
                                        : "CUDA graphs: a replay a micro-step and an update");
    if (device_.is_cpu() && cuda_version() != "none" &&
        recipe_.options.run.device == DeviceChoice::kAuto) {
      log_.warn("run.device: auto, and no GPU answers: training on the CPU");
    }
    const FrozenPlacement placement{.device = device_, .type = compute_type(recipe_)};
    text_ = prepare_text(recipe_, prompts(), hash_of("text_encoder"), placement, log_);
    encoders_ = load_encoders(recipe_, placement, log_);
    model_ = make_model(recipe_, device_, *encoders_);
    log_.info(fmt::format("model: {}, {} parameters", recipe_.model.config.preset,
                          with_commas(parameter_count(model_->units()))));
    const Plan plan = plan_memory(recipe_);
    say_memory(plan, device_, log_);
    check_host_memory(plan);
    sharding_ = make_sharding(recipe_, device_, model_->units(), Layout{}, MeshAxes{});
    optimizer_ = make_optimizer(recipe_, device_, *sharding_);
    writer_ = std::make_unique<CheckpointWriter>(
        CheckpointWriterOptions{.folder = checkpoints_path(recipe_),
                                .keep = recipe_.options.checkpoint.keep,
                                .in_place = offloads_state(recipe_)},
        sharding_->units(), log_);
    check_checkpoint_space(recipe_, start_ ? start_->manifest().run.step : 0,
                           writer_->checkpoint_bytes(), log_);
  }

  [[nodiscard]] const std::string& hash_of(const std::string& component) const {
    for (const auto& origin : frozen_) {
      if (origin.component == component) return origin.hash;
    }
    throw InvariantError("a frozen component without a hash");
  }

  // Weights and position: of the checkpoint, or of a fresh run.
  void start_from() {
    const auto metrics = recipe_.options.run.dir / "metrics.jsonl";
    if (start_) {
      const RunState& saved = start_->manifest().run;
      // Frozen tensors are in no checkpoint; no recipe freezes a part of the transformer yet.
      for (const auto& unit : sharding_->units()) {
        invariant(unit.spec().numel == unit.spec().trainable_numel, "frozen tensors at a resume");
      }
      start_->restore(sharding_->units());
      optimizer_->set_applied_updates(saved.applied_updates);
      first_step_ = saved.step;
      samples_seen_ = saved.data.samples_seen;
      CheckpointFolder(checkpoints_path(recipe_)).set_aside_after(saved.step, [this](auto& line) {
        log_.info(line);
      });
    } else {
      fill_initial_weights(recipe_, *model_, sharding_->units(), log_);
    }
    sharding_->publish_weights();
    cut_metrics(metrics, first_step_);
    metrics_ = std::make_unique<MetricsFile>(metrics);
    resumed_ = start_ != nullptr;
    start_.reset();
  }

  void check_same_run(const RunState& saved) const {
    const RunComparison compared = compare_run(saved, expected_run());
    require<ConfigError>(compared.refused.empty(),
                         "resuming from step {}: this recipe is another run.\n  {}\nFix: undo the "
                         "change, or give the new run a run.dir of its own.",
                         saved.step, join(compared.refused, "\n  "));
    for (const auto& note : compared.notes) log_.info(note);
  }

  [[nodiscard]] ExpectedRun expected_run() const {
    ExpectedRun expected;
    expected.model = model_identity(recipe_.model.config, frozen_);
    expected.data_fingerprint = data_.splits.training->fingerprint();
    expected.seed = recipe_.options.run.seed;
    expected.generator = kGenerator;
    expected.global_batch = recipe_.train.options.global_batch;
    expected.recipe = recipe_.dump();
    expected.recipe_hash = recipe_.hash();
    expected.threads = device_.is_cpu() ? recipe_.threads : 1;
    return expected;
  }

  void save(std::int64_t step) {
    const ExpectedRun self = expected_run();
    RunState run;
    run.step = step;
    run.applied_updates = optimizer_->applied_updates();
    run.data = {.samples_seen = loader_->samples_consumed(),
                .epoch = static_cast<double>(loader_->samples_consumed()) /
                         static_cast<double>(loader_->epoch_size()),
                .fingerprint = self.data_fingerprint};
    run.seed = self.seed;
    run.generator = self.generator;
    run.global_batch = self.global_batch;
    run.threads = self.threads;
    run.program = version_line();
    run.recipe = recipe_.dump();
    run.recipe_hash = self.recipe_hash;
    run.model = self.model;
    run.frozen = frozen_;
    run.extra = facts_;
    writer_->save(std::move(run));
  }

  void open_stream() {
    order_.emplace(data_.splits.training->member_sizes(), data_.splits.training->member_weights(),
                   recipe_.options.run.seed);
    loader_ = std::make_unique<Loader>(*data_.splits.training, *order_, *text_,
                                       loader_options(recipe_, device_, samples_seen_));
    if (recipe_.options.validate.every == 0) return;
    const ValidateSection& validate = recipe_.options.validate;
    validator_.emplace(
        *data_.splits.held_back,
        [this](const std::vector<Sample>& samples) { return collate(samples, *text_); },
        ValidationOptions{.windows = validate.windows,
                          .sampling_steps = validate.sampling_steps,
                          .micro_batch = recipe_.train.options.micro_batch,
                          .seed = recipe_.options.run.seed,
                          .shuffled = validate.shuffled});
  }

  LoopEnd loop() {
    open_stream();
    writer_->wait();  // its memory was made ready while weights were read
    reset_peak_memory(device_);
    const LoopParts parts{.model = *model_,
                          .sharding = *sharding_,
                          .optimizer = *optimizer_,
                          .source = *loader_,
                          .metrics = *metrics_,
                          .log = log_,
                          .stop = stop_,
                          .observer = nullptr,
                          .validator = validator_ ? &*validator_ : nullptr,
                          .save = [this](std::int64_t step) { save(step); },
                          .saving = [this] { return writer_->is_busy(); },
                          .before_update = [this] { writer_->before_update(); }};
    LoopOptions options = loop_options(recipe_, device_);
    options.resumed = resumed_;
    if (first_step_ >= options.steps && resumed_) {
      log_.info(
          fmt::format("step {} of {} is done already: nothing left to train. To go on, raise "
                      "train.steps.",
                      first_step_, options.steps));
    }
    return run_loop(parts, options, first_step_);
  }

  void say_end(LoopEnd end) const {
    const std::string where = checkpoints_path(recipe_).string();
    if (end == LoopEnd::kStopped) {
      log_.info("stopped; the same command goes on");
    } else if (recipe_.options.checkpoint.at_end) {
      log_.info("finished; the last checkpoint is in " + where);
    } else {
      log_.info("finished; checkpoint.at_end is false, so the end was not saved");
    }
  }

  StopSignal signal_;  // from the first second until the last checkpoint is on the disk
  LocalStop stop_{signal_};
  const ResolvedRecipe& recipe_;
  Log& log_;
  at::Device device_;
  std::unique_ptr<CheckpointReader> start_;  // until its content has been taken over
  OpenedData data_;
  std::vector<FrozenOrigin> frozen_;
  std::string facts_;  // what an export will need, for every checkpoint
  std::unique_ptr<TextEmbeddings> text_;
  std::unique_ptr<FrozenEncoders> encoders_;
  std::unique_ptr<Sharding> sharding_;  // outlives the model, whose graphs hold its addresses
  std::unique_ptr<WamModel> model_;
  std::unique_ptr<AdamW> optimizer_;
  std::unique_ptr<MetricsFile> metrics_;
  std::unique_ptr<CheckpointWriter> writer_;
  std::optional<SampleOrder> order_;
  std::unique_ptr<Loader> loader_;
  std::optional<Validator> validator_;
  bool resumed_ = false;
  std::int64_t first_step_ = 0;
  std::uint64_t samples_seen_ = 0;
};

}  // namespace

int run_training(const ResolvedRecipe& recipe) {
  const auto& folder = recipe.options.run.dir;
  make_folders(folder);
  const RunFolderLock lock(folder);
  AttemptRecord attempts(folder);  // before this start has a line in the log
  Log log({.console = true, .file = (folder / "log.txt").string()});
  try {
    const int code = Run(recipe, log).train(attempts);
    attempts.clear();
    return code;
  } catch (const std::exception& error) {
    log.record(fmt::format("ended by an error: {}", error.what()));
    attempts.note_error(error.what());
    throw;
  }
}

}  // namespace wam
