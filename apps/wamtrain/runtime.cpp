#include "apps/wamtrain/runtime.h"

#include <chrono>
#include <memory>
#include <optional>
#include <set>

#include "apps/wamtrain/datasets.h"
#include "apps/wamtrain/encoders.h"
#include "apps/wamtrain/initial_weights.h"
#include "apps/wamtrain/latents.h"
#include "apps/wamtrain/placement.h"
#include "apps/wamtrain/plan.h"
#include "apps/wamtrain/ranks.h"
#include "apps/wamtrain/read_limit.h"
#include "apps/wamtrain/rehearsal.h"
#include "apps/wamtrain/run_device.h"
#include "apps/wamtrain/run_inputs.h"
#include "apps/wamtrain/run_start.h"
#include "apps/wamtrain/texts_on_ranks.h"
#include "apps/wamtrain/training_parts.h"
#include "apps/wamtrain/version.h"
#include "core/base/errors.h"
#include "core/base/format.h"
#include "core/base/log.h"
#include "core/base/names.h"
#include "core/base/read_watch.h"
#include "core/cuda/device.h"
#include "core/io/atomic_file.h"
#include "core/io/disk.h"
#include "core/train/attempts.h"
#include "core/train/checkpoint_writer.h"
#include "core/train/loop.h"
#include "core/train/run_folder.h"
#include "core/train/state_hash.h"
#include "data/loader/loader.h"
#include "models/wam/memory.h"
#include "models/wam/wam_model.h"
#include "parallel/launch/placement.h"

namespace wam {
namespace {

// "4 ranks: hybrid_shard, 2 in a group of shards, 2 replicas".
std::string describe(const Layout& layout, const ResolvedRecipe& recipe) {
  return fmt::format(
      "{} ranks: {}, {} in a group of shards, {}", layout.world,
      name_of(recipe.options.parallel.strategy), layout.shard_ranks,
      layout.replicas() == 1 ? "no replicas" : fmt::format("{} replicas", layout.replicas()));
}

// A run and everything it owns. Members stand in the order in which they are built; they go in the
// opposite order.
class Run {
 public:
  Run(const ResolvedRecipe& recipe, Ranks& ranks, Log& log)
      : recipe_(recipe),
        ranks_(ranks),
        log_(log),
        layout_(layout_of(
            recipe.options.parallel, ranks.env().world_size, ranks.env().local_world_size)),
        device_(resolve_device(recipe, ranks.env())),
        placement_{.device = device_, .type = compute_type(recipe)},
        clock_(device_) {}

  // `attempts`: the first rank's; null on the others.
  int train(AttemptRecord* attempts) {
    accept_inputs(attempts);
    build_model();
    start_from();
    const LoopEnd end = loop();
    writer_->wait();
    if (recipe_.options.log.state_hash) {
      log_.info("state hash: " + state_hash(sharding_->units(), ranks_.exchange()));
    }
    say_end(end);
    return 0;
  }

 private:
  // Everything that may refuse the run comes before anything is written or allocated; from there on
  // an end without progress is a crash.
  void accept_inputs(AttemptRecord* attempts) {
    log_.info(fmt::format("{}, recipe {} ({})", version_line(), recipe_.source, recipe_.hash()));
    place_on_cores(recipe_, ranks_.env(), device_, log_);
    inputs_ = read_inputs(recipe_, ranks_, log_);
    if (inputs_.start) check_same_run(inputs_.start->manifest().run, expected(), log_);
    latents_ = open_latents(
        recipe_, *inputs_.data.splits.training,
        {.vae = inputs_.hash_of("vae"), .image_encoder = inputs_.hash_of("image_encoder")},
        placement_, log_);
    ranks_.first_does([&] {
      write_file_atomically(recipe_.options.run.dir / "recipe.yaml", recipe_.dump());
      write_metadata(statistics_file(recipe_), inputs_.data.statistics);
      note_attempt(*attempts);
    });
  }

  void note_attempt(AttemptRecord& attempts) const {
    const std::int64_t step = inputs_.start ? inputs_.start->manifest().run.step : 0;
    const auto before = attempts.begin(step, recipe_.hash(), recipe_.options.run.max_crashes);
    if (before == 0) return;
    log_.info(fmt::format("starts from step {} that crashed, in a row: {} (run.max_crashes: {})",
                          step, before, recipe_.options.run.max_crashes));
  }

  [[nodiscard]] ExpectedRun expected() const {
    return expected_run(recipe_, inputs_, device_, ranks_.env().world_size);
  }

  void build_model() {
    prepare_device({.device = device_,
                    .cpu_threads = static_cast<int>(recipe_.threads),
                    .deterministic = recipe_.options.precision.deterministic});
    log_.info("device: " + describe_device(device_));
    if (layout_.world > 1) log_.info(describe(layout_, recipe_));
    if (uses_graphs(recipe_, device_))
      log_.info(offloads_state(recipe_) ? "CUDA graphs: a replay a micro-step"
                                        : "CUDA graphs: a replay a micro-step and an update");
    if (device_.is_cpu() && cuda_version() != "none" &&
        recipe_.options.run.device == DeviceChoice::kAuto) {
      log_.warn("run.device: auto, and no GPU answers: training on the CPU");
    }
    text_ = texts_on_ranks(recipe_, all_prompts(inputs_.data.splits),
                           inputs_.hash_of("text_encoder"), placement_, ranks_, log_);
    encoders_ = load_encoders_to_train(recipe_, placement_, log_);
    model_ = make_model(recipe_, device_, *encoders_, clock_, ranks_.graph_observer());
    log_.info(fmt::format("model: {}, {} parameters", recipe_.model.config.preset,
                          with_commas(parameter_count(model_->units()))));
    const Plan plan = plan_memory(recipe_, layout_);
    say_memory(plan, device_, log_);
    check_host_memory(plan.host_bytes * ranks_.env().local_world_size);
    warn_of_scattered_groups();
    const MeshAxes axes = ranks_.connect(layout_, device_);
    sharding_ = make_sharding(recipe_, device_, model_->units(), layout_, axes);
    optimizer_ = make_optimizer(recipe_, device_, *sharding_, ranks_.graph_observer());
    writer_ = std::make_unique<CheckpointWriter>(
        CheckpointWriterOptions{.folder = checkpoints_path(recipe_),
                                .keep = recipe_.options.checkpoint.keep,
                                .writes = ranks_.env().global_rank < layout_.shard_ranks,
                                .in_place = offloads_state(recipe_),
                                .exchange = ranks_.exchange(),
                                .moved = [this] { ranks_.writer_moved(); }},
        sharding_->units(), log_);
    check_checkpoint_space(recipe_, inputs_.start ? inputs_.start->manifest().run.step : 0,
                           writer_->checkpoint_bytes(), log_);
  }

  void warn_of_scattered_groups() {
    if (layout_.world == 1) return;
    const auto hosts = ranks_.exchange()("hosts", ranks_.env().host);
    const auto advice = scattered_groups_advice(hosts, layout_.shard_ranks);
    if (advice && ranks_.is_first()) log_.warn("parallel: " + *advice);
  }

  // Weights and position: of the checkpoint, or of a fresh run.
  void start_from() {
    if (inputs_.start) {
      restore(*inputs_.start);
    } else {
      fill_initial_weights(recipe_, *model_, sharding_->units(), log_);
    }
    sharding_->publish_weights();
    ranks_.first_does([&] {
      const auto metrics = recipe_.options.run.dir / "metrics.jsonl";
      if (inputs_.start) set_later_ones_aside();
      cut_metrics(metrics, first_step_);
      metrics_ = std::make_unique<MetricsFile>(metrics);
    });
    resumed_ = inputs_.start != nullptr;
    inputs_.start.reset();
  }

  void restore(CheckpointReader& start) {
    const RunState& saved = start.manifest().run;
    // Frozen tensors are in no checkpoint; no recipe freezes a part of the transformer yet.
    for (const auto& unit : sharding_->units()) {
      invariant(unit.spec().numel == unit.spec().trainable_numel, "frozen tensors at a resume");
    }
    start.restore(sharding_->units());
    optimizer_->set_applied_updates(saved.applied_updates);
    first_step_ = saved.step;
    samples_seen_ = saved.data.samples_seen;
    bad_windows_ = saved.data.bad_windows;
  }

  void set_later_ones_aside() const {
    CheckpointFolder(checkpoints_path(recipe_)).set_aside_after(first_step_, [this](auto& line) {
      log_.info(line);
    });
  }

  void save(std::int64_t step) {
    const ExpectedRun self = expected();
    RunState run;
    run.step = step;
    run.applied_updates = optimizer_->applied_updates();
    run.data = {.samples_seen = loader_->samples_consumed(),
                .epoch = static_cast<double>(loader_->samples_consumed()) /
                         static_cast<double>(loader_->epoch_size()),
                .fingerprint = self.data_fingerprint,
                .order = self.data_order,
                .bad_windows = bad_windows_};
    run.seed = self.seed;
    run.generator = self.generator;
    run.global_batch = self.global_batch;
    run.world_size = self.world_size;
    run.threads = self.threads;
    run.program = version_line();
    run.recipe = recipe_.dump();
    run.recipe_hash = self.recipe_hash;
    run.model = self.model;
    run.frozen = inputs_.frozen;
    run.extra = inputs_.facts;
    writer_->save(std::move(run));
  }

  void open_stream() {
    order_.emplace(inputs_.data.splits.training->member_sizes(),
                   inputs_.data.splits.training->member_weights(), recipe_.options.run.seed,
                   mixture_draw(recipe_));
    training_ = guarded(inputs_.data.splits.training);
    // What this thread does on the host between steps of a GPU is little, and the cores are needed.
    if (device_.is_cuda()) compute_alone();
    auto options = loader_options(recipe_, device_, samples_seen_, ranks_.env());
    options.moved = [this] { ranks_.moved(); };
    options.on_slow = [this](const std::string& line) { log_.warn(line); };
    loader_ = std::make_unique<Loader>(training_, *order_, *text_, options);
    rehearse(options.plan);
    if (recipe_.options.validate.every > 0) open_validation();
  }

  [[nodiscard]] std::shared_ptr<const Dataset> guarded(
      const std::shared_ptr<WindowDataset>& split) const {
    return std::make_shared<const GuardedDataset>(with_latents(split, latents_),
                                                  bad_sample_rule(recipe_, *split));
  }

  void open_validation() {
    held_back_ = guarded(inputs_.data.splits.held_back);
    const ValidateSection& validate = recipe_.options.validate;
    validator_.emplace(
        *held_back_,
        [this](const std::vector<Sample>& samples) { return collate(samples, *text_); },
        ValidationOptions{.windows = validate.windows,
                          .sampling_steps = validate.sampling_steps,
                          .micro_batch = recipe_.train.options.micro_batch,
                          .seed = recipe_.options.run.seed,
                          .shuffled = validate.shuffled,
                          .rank = ranks_.env().global_rank,
                          .world = ranks_.env().world_size,
                          .moved = [this] { ranks_.moved(); }});
    for (const BadSample& bad : validator_->replaced()) {
      log_.warn(fmt::format("validation: window {} is replaced: {}", bad.ordinal, bad.why));
    }
  }

  void rehearse(const BatchPlan& plan) {
    if (!uses_graphs(recipe_, device_) || ranks_.env().world_size == 1) return;
    log_.info("recording the forms of a micro-step on all ranks");
    rehearse_steps(*model_, *sharding_, *training_, inputs_.data.splits.training->shapes(), *text_,
                   plan);
  }

  LoopEnd loop() {
    open_stream();
    writer_->wait();  // its memory was made ready while weights were read
    reset_peak_memory(device_);
    const LoopParts parts{.model = *model_,
                          .sharding = *sharding_,
                          .optimizer = *optimizer_,
                          .source = *loader_,
                          .metrics = metrics_.get(),
                          .log = log_,
                          .stop = ranks_.stop(),
                          .clock = clock_,
                          .observer = ranks_.observer(),
                          .validator = validator_ ? &*validator_ : nullptr,
                          .bad_windows = &bad_windows_,
                          .save = [this](std::int64_t step) { save(step); },
                          .saving = [this] { return writer_->is_busy(); },
                          .before_update = [this] { writer_->before_update(); }};
    LoopOptions options = loop_options(recipe_, device_, ranks_.env());
    if (!ranks_.is_first()) options.run_folder.clear();
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

  const ResolvedRecipe& recipe_;
  Ranks& ranks_;
  Log& log_;
  Layout layout_;
  at::Device device_;
  FrozenPlacement placement_;
  StepClock clock_;
  RunInputs inputs_;
  LatentCaches latents_;  // none where they are encoded live
  std::unique_ptr<TextEmbeddings> text_;
  std::unique_ptr<FrozenEncoders> encoders_;
  std::unique_ptr<Sharding> sharding_;  // outlives the model, whose graphs hold its addresses
  std::unique_ptr<WamModel> model_;
  std::unique_ptr<AdamW> optimizer_;
  std::unique_ptr<MetricsFile> metrics_;  // the first rank's
  std::unique_ptr<CheckpointWriter> writer_;
  std::shared_ptr<const Dataset> training_;
  std::shared_ptr<const Dataset> held_back_;
  std::optional<SampleOrder> order_;
  std::unique_ptr<Loader> loader_;
  std::optional<Validator> validator_;
  bool resumed_ = false;
  std::int64_t first_step_ = 0;
  std::uint64_t samples_seen_ = 0;
  std::set<std::string> bad_windows_;
};

}  // namespace

namespace {

// Of the first rank: what others may not share.
struct RunFolder {
  explicit RunFolder(const std::filesystem::path& folder) : lock(folder), attempts(folder) {}
  RunFolderLock lock;
  AttemptRecord attempts;  // before this start has a line in the log
};

// The first rank speaks to people; the others keep a file each.
Log::Options log_options(const std::filesystem::path& folder, int rank) {
  if (rank == 0) return {.console = true, .file = (folder / "log.txt").string()};
  make_folders(folder / "rank_logs");
  return {.console = false,
          .file = (folder / "rank_logs" / fmt::format("{:05}.txt", rank)).string()};
}

// What outlives the work, to remember how it ended.
struct Records {
  std::optional<RunFolder> held;  // by the first rank
  std::optional<Log> log;

  void note_error(const std::string& error) {
    if (log) log->record(fmt::format("ended by an error: {}", error));
    if (held) held->attempts.note_error(error);
  }
};

int train_as_one(const ResolvedRecipe& recipe, Ranks& ranks, Records& records) {
  const auto& folder = recipe.options.run.dir;
  ranks.first_does([&] { records.held.emplace(folder); });
  AttemptRecord* attempts = records.held ? &records.held->attempts : nullptr;
  records.log.emplace(log_options(folder, ranks.env().global_rank));
  const ReadWatch reads(
      {.limit = read_limit(recipe.options.run),
       .on_slow = [&](const std::string& line) { records.log->warn(line); },
       .on_stall = [&](const std::string& error) { ranks.end_now(DeviceError(error)); }});
  const int code = Run(recipe, ranks, *records.log).train(attempts);
  if (attempts != nullptr) attempts->clear();
  return code;
}

}  // namespace

int run_training(const ResolvedRecipe& recipe) {
  make_folders(recipe.options.run.dir);
  Ranks ranks(
      recipe.options.run.dir,
      std::chrono::milliseconds(static_cast<std::int64_t>(1000 * recipe.options.run.timeout_s)));
  Records records;
  return ranks.run([&] { return train_as_one(recipe, ranks, records); },
                   [&](const std::string& error) { records.note_error(error); });
}

}  // namespace wam
