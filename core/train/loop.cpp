#include "core/train/loop.h"

#include <optional>
#include <utility>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>

#include "core/base/errors.h"
#include "core/base/format.h"
#include "core/base/names.h"
#include "core/cuda/device.h"
#include "core/train/pending_step.h"

namespace wam {
namespace {

class Loop {
 public:
  Loop(const LoopParts& parts, const LoopOptions& options)
      : parts_(parts), options_(options), recent_(options.advice) {}

  LoopEnd run(std::int64_t first_step) {
    parts_.sharding.take_waits();  // those of a rehearsal
    parts_.clock.start();
    for (std::int64_t step = first_step; step < options_.steps; ++step) {
      if (parts_.stop.agreed()) return stop(step, first_step);
      PendingStep submitted = submit(step);
      read_pending();
      pending_ = std::move(submitted);
      if (!options_.reads_late) read_pending();
      if (parts_.stop.agreed() && step + 1 < options_.steps) return stop(step + 1, first_step);
      if (is_due(options_.validate_every, step + 1)) validate(step + 1);
      if (is_due(options_.checkpoint_every, step + 1) && !skips(step + 1)) save(step + 1);
    }
    read_pending();
    parts_.log.end_progress();
    finish(first_step);
    return LoopEnd::kFinished;
  }

 private:
  enum class Readers { kAll, kThisRank };

  [[nodiscard]] static bool is_due(std::int64_t every, std::int64_t step) {
    return every > 0 && step % every == 0;
  }

  void enter(Phase phase, std::int64_t step, std::int64_t micro_step = 0) {
    if (parts_.observer != nullptr) parts_.observer->enter(phase, step, micro_step);
  }

  // A step that fails keeps no other's line from the file; the other ranks know nothing of it yet.
  PendingStep submit(std::int64_t step) {
    try {
      return train_step(step);
    } catch (...) {
      read_pending(Readers::kThisRank);
      throw;
    }
  }

  PendingStep train_step(std::int64_t step) {
    StepMetrics known;
    known.step = step + 1;
    const at::Tensor losses = micro_steps(known.step);
    enter(Phase::kUpdate, step + 1);
    known.learning_rate = options_.schedule.rate(step);
    parts_.clock.enter(Activity::kCheckpoint);
    parts_.before_update();
    parts_.clock.enter(Activity::kUpdate);
    const UpdateResult update = parts_.optimizer.step(known.learning_rate);
    known.samples_seen = parts_.source.samples_consumed();
    known.epoch =
        static_cast<double>(known.samples_seen) / static_cast<double>(parts_.source.epoch_size());
    known.peak_memory_bytes = peak_memory_bytes(parts_.sharding.units().front().placement().device);
    StepSpan span = parts_.clock.end_step();
    return {std::move(known),
            std::exchange(samples_, {}),
            options_.global_batch,
            {.losses = losses, .update = update, .wait_s = parts_.sharding.take_waits()},
            std::move(span)};
  }

  // Forward and backward of one global batch; (4) sums over the ranks, as PendingStep takes them.
  at::Tensor micro_steps(std::int64_t step) {
    parts_.sharding.begin_step();
    const double weight = 1.0 / static_cast<double>(options_.global_batch);
    const std::int64_t count = parts_.source.micro_steps();
    at::Tensor sums;
    samples_ = {};
    for (std::int64_t m = 0; m < count; ++m) {
      enter(Phase::kDataWait, step, m + 1);
      parts_.clock.enter(Activity::kDataWait);
      const Batch batch = parts_.source.next();
      enter(Phase::kForwardBackward, step, m + 1);
      parts_.clock.enter(Activity::kForwardBackward);
      for (std::size_t i = 0; i < batch.id.size(); ++i) {
        samples_.used.push_back({batch.ordinal[i], batch.id[i]});
      }
      samples_.replaced.insert(samples_.replaced.end(), batch.replaced.begin(),
                               batch.replaced.end());
      parts_.sharding.begin_micro_step(m + 1 == count);
      const Losses part = parts_.model.train(batch, parts_.sharding, options_.seed, weight);
      const at::Tensor row =
          at::cat({part.loss.reshape({1}), part.video.reshape({1}), part.action.reshape({1})})
              .to(at::kDouble);
      sums = sums.defined() ? sums + row : row;
    }
    parts_.clock.enter(Activity::kOther);
    const auto num_replaced = static_cast<double>(samples_.replaced.size());
    sums = at::cat({sums, at::full({1}, num_replaced, sums.options())});
    parts_.sharding.sum_over_ranks(sums);
    return sums;
  }

  // Waits for the step that was submitted and not read yet, if any; writes its line. The only wait
  // for the device in a step.
  void read_pending(Readers readers = Readers::kAll) {
    if (!pending_) return;
    const PendingStep step = *std::exchange(pending_, std::nullopt);
    StepMetrics metrics = step.metrics(parts_.sharding.units());
    parts_.stop.check();
    if (metrics.skipped && readers == Readers::kAll) {
      metrics.samples = step.samples(parts_.sharding);
    }
    if (metrics.num_bad_samples > 0 && readers == Readers::kAll) {
      metrics.bad_samples = step.replaced(parts_.sharding);
    }
    recent_.add(metrics.times);
    metrics.samples_per_s = static_cast<double>(options_.global_batch) / recent_.step_s();
    if (parts_.metrics != nullptr) parts_.metrics->write(metrics);
    show(metrics);
    for (const std::string& line : recent_.new_advice()) parts_.log.info(line);
    if (readers == Readers::kAll) count_bad_samples(metrics, step);
    guard(metrics, step);
  }

  // Every rank counts the same. A window is drawn again in every epoch; it counts once.
  void count_bad_samples(const StepMetrics& metrics, const PendingStep& step) {
    if (metrics.num_bad_samples == 0) return;
    invariant(parts_.bad_windows != nullptr, "samples were replaced, and nobody counts them");
    std::set<std::string>& all = *parts_.bad_windows;
    const std::set<std::string> known = all;
    for (const BadSample& bad : step.own_replaced()) {
      if (known.contains(window_name(bad.id))) continue;
      parts_.log.warn(
          fmt::format("step {}: sample {} is replaced: {}", metrics.step, bad.ordinal, bad.why));
    }
    std::string last;
    for (const std::string& window : metrics.bad_samples) {
      if (all.insert(window).second) last = window;
    }
    if (last.empty()) return;
    const auto count = static_cast<std::int64_t>(all.size());
    parts_.log.warn(fmt::format(
        "step {}: {} samples with bad content were replaced ({}); {} such windows in the run so "
        "far, of {} that data.max_bad_samples allows",
        metrics.step, metrics.num_bad_samples, join(metrics.bad_samples), count,
        options_.max_bad_samples));
    require<DataError>(
        count <= options_.max_bad_samples,
        "training: {} windows have bad content, found up to step {}, the last of them {} "
        "(dataset/episode/frame); data.max_bad_samples is {}. Fix: mend or remove the episodes "
        "that log.txt and metrics.jsonl name, or raise data.max_bad_samples.",
        count, metrics.step, last, options_.max_bad_samples);
  }

  void guard(const StepMetrics& metrics, const PendingStep& step) {
    if (!metrics.skipped) {
      nonfinite_in_a_row_ = 0;
      return;
    }
    ++nonfinite_in_a_row_;
    const std::string culprit = name_nonfinite(parts_.sharding, step.tensor_square_sums());
    parts_.log.warn(fmt::format(
        "step {}: the gradient norm is {} and the loss {}; the update was skipped. First not "
        "finite: {}.",
        metrics.step, metrics.grad_norm, metrics.loss, culprit));
    require<Error>(
        nonfinite_in_a_row_ < options_.max_nonfinite,
        "training: {} updates in a row were not finite, the last at step {} ({}); "
        "train.max_nonfinite is {}. Fix: look at the samples that metrics.jsonl names for these "
        "steps, lower train.learning_rate, or resume from a checkpoint before step {}.",
        nonfinite_in_a_row_, metrics.step, culprit, options_.max_nonfinite,
        metrics.step - nonfinite_in_a_row_ + 1);
  }

  void show(const StepMetrics& m) {
    const bool due = is_due(options_.log_every, m.step) || m.step == options_.steps;
    if (!due && !parts_.log.is_terminal()) return;
    const double left = recent_.step_s() * static_cast<double>(options_.steps - m.step);
    parts_.log.progress(fmt::format(
        "step {}/{}  loss {:.4f} (video {:.4f}, action {:.4f})  norm {:.3g}  lr {:.3g}  "
        "{:.3g} samples/s{}  {} left",
        m.step, options_.steps, m.loss, m.video_loss, m.action_loss, m.grad_norm, m.learning_rate,
        m.samples_per_s, recent_.waits_text(), human_seconds(left)));
  }

  void validate(std::int64_t step) {
    // Who waits for the run to end does not wait for a score.
    if (parts_.validator == nullptr || step == last_validated_ || parts_.stop.agreed()) return;
    last_validated_ = step;
    read_pending();
    enter(Phase::kValidation, step);
    parts_.clock.enter(Activity::kPause);
    const ValidationMetrics m =
        parts_.validator->run(parts_.model, parts_.sharding, step, options_.run_folder);
    if (parts_.metrics != nullptr) parts_.metrics->write(m);
    std::string line = fmt::format(
        "validation at step {}: video loss {:.4f}, action loss {:.4f}, action error {:.4f} = "
        "{:.2f} of the mean action's",
        step, m.video_loss, m.action_loss, m.action_error, m.action_error / m.mean_action_error);
    if (m.shuffled_error) {
      line += fmt::format(" ({:.2f} with pictures and prompts exchanged)",
                          *m.shuffled_error / m.mean_action_error);
    }
    parts_.log.info(line + fmt::format("; {} windows in {}", m.windows, human_seconds(m.seconds)));
    parts_.sharding.take_waits();
    parts_.clock.enter(Activity::kOther);
  }

  void save(std::int64_t step) {
    if (step == last_saved_) return;
    last_saved_ = step;
    read_pending();
    enter(Phase::kCheckpoint, step);
    parts_.clock.enter(Activity::kCheckpoint);
    parts_.save(step);
    parts_.clock.enter(Activity::kOther);
  }

  // Every rank finds the same, since all of them save or none does.
  bool skips(std::int64_t step) {
    if (!options_.skips_when_busy || step == options_.steps) return false;
    read_pending();
    const double mine = parts_.saving() ? 1 : 0;
    const auto device = parts_.sharding.units().front().placement().device;
    at::Tensor busy = at::full({1}, mine, at::TensorOptions(device).dtype(at::kDouble));
    parts_.sharding.sum_over_ranks(busy);
    if (busy.item<double>() == 0) return false;
    parts_.log.info(
        fmt::format("step {}: the last checkpoint is still being written, this one is skipped "
                    "(checkpoint.when_busy: skip)",
                    step));
    return true;
  }

  LoopEnd stop(std::int64_t step, std::int64_t first_step) {
    read_pending();
    parts_.log.end_progress();
    if (step == first_step) {
      parts_.log.info(fmt::format("{} before the first step: leaving", parts_.stop.reason()));
      return LoopEnd::kStopped;
    }
    parts_.log.info(
        fmt::format("{}: saving after step {} and leaving", parts_.stop.reason(), step));
    save(step);
    return LoopEnd::kStopped;
  }

  void finish(std::int64_t first_step) {
    if (options_.steps <= first_step && options_.resumed) return;  // nothing new to save
    if (options_.validate_every > 0) validate(options_.steps);
    if (options_.checkpoint_at_end) save(options_.steps);
  }

  const LoopParts& parts_;
  const LoopOptions& options_;
  RecentSteps recent_;
  StepSamples samples_;  // of the step in hand, on this rank
  std::optional<PendingStep> pending_;
  std::int64_t nonfinite_in_a_row_ = 0;
  std::int64_t last_saved_ = -1;
  std::int64_t last_validated_ = -1;
};

}  // namespace

LoopEnd run_loop(const LoopParts& parts, const LoopOptions& options, std::int64_t first_step) {
  return Loop(parts, options).run(first_step);
}

}  // namespace wam
